package shells

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
	"ptyctl/session"
	"ptyctl/session/prompt"
)

// TestScenario drives real programs in a terminal of a real sshd, as an operator does: by typing and reading, and by
// commands that turn out to ask something.
func TestScenario(t *testing.T) {
	for _, file := range []string{
		"/usr/bin/sudo", "/usr/bin/passwd", "/usr/bin/su", "/usr/bin/vim", "/usr/bin/less", "/usr/bin/python3",
		"/usr/bin/gdb", "/usr/bin/top", "/usr/bin/unshare",
	} {
		if _, err := os.Stat(file); err != nil {
			t.Fatalf("%v: run scripts/install-test-deps", err)
		}
	}
	l := lab.StartShells(t)
	l.WriteFile(
		t,
		"/etc/sudoers",
		"440",
		"bash ALL=(ALL:ALL) ALL\ndash ALL=(ALL:ALL) NOPASSWD: ALL\nDefaults !lecture, timestamp_timeout=0\n",
	)
	const pam = "auth required pam_unix.so nodelay\naccount required pam_permit.so\npassword required pam_unix.so\nsession required pam_permit.so\n"
	for _, service := range []string{"sudo", "su", "su-l"} {
		l.WriteFile(t, "/etc/pam.d/"+service, "644", pam)
	}
	for _, test := range []struct {
		name string
		run  func(*testing.T, *lab.Shells)
	}{
		{"sudo", scenarioSudo},
		{"sudo, wrong password first", scenarioSudoTwice},
		{"passwd", scenarioPasswd},
		{"su", scenarioSu},
		{"less", scenarioLess},
		{"vim", scenarioVim},
		{"python3", scenarioPython},
		{"gdb", scenarioGDB},
		{"top", scenarioTop},
		{"nested shells", scenarioNested},
		{"container", scenarioContainer},
		{"ignores ctrl_c", scenarioIgnoresInterrupt},
		{"job control", scenarioJobControl},
		{"no echo", scenarioNoEcho},
		{"yes or no", scenarioYesNo},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, l)
		})
	}
}

// asks runs a command in the terminal that must ask something of that kind.
func asks(t *testing.T, s *session.Session, command, kind string) session.ExecResult {
	t.Helper()
	began := time.Now()
	r, err := s.Exec(
		t.Context(),
		session.ExecRequest{Command: command, Lane: session.LaneTerminal, Timeout: 2 * lab.Patience},
	)
	if err != nil {
		t.Logf("the terminal shows %q", lab.Screenful(s))
		lab.Fatal(t, err)
	}
	lab.WantWaiting(t, s, r, kind)
	if took := time.Since(began); took > lab.Patience { // its timeout is twice that
		t.Errorf("the question was reported after %s", took)
	}
	return r
}

// wantEnded fails the test unless the command has ended with code and its output matches.
func wantEnded(t *testing.T, s *session.Session, r session.ExecResult, output string, code int) {
	t.Helper()
	// A full-screen program that is about to leave its screen may pause, and is still one that waits then.
	for end := s.End(); r.Done == session.DoneRunning && r.WaitingFor != nil && r.WaitingFor.Kind == prompt.Editor; {
		k := s.Read(t.Context(), session.ReadRequest{Cursor: end, Timeout: lab.Patience})
		if k.Reason != session.ReasonData {
			break
		}
		end = k.Next
		var err error
		if r, err = s.ContinueExec(t.Context(), r.ID, session.ContinueRequest{Wait: lab.Patience}); err != nil {
			t.Fatal(err)
		}
	}
	if got := string(r.Stdout.Bytes()); !regexp.MustCompile(output).MatchString(got) || r.Done != session.DoneMarker ||
		!r.Exit.Known ||
		r.Exit.Code != code {
		t.Errorf(
			"put out %q and is %s with %+v (%s, waiting for %+v); want %q and code %d; the terminal shows %q",
			got,
			r.Done,
			r.Exit,
			r.ExitReason,
			r.WaitingFor,
			output,
			code,
			lab.Screenful(s),
		)
	}
}

func scenarioSudo(t *testing.T, l *lab.Shells) {
	s := l.Open(t, "bash")
	secret := l.Users["bash"].Password
	r := asks(t, s, "sudo sh -c 'id -un; exit 3'", prompt.Password)
	wantEnded(t, s, lab.ReplySecret(t, s, r, secret+"\r"), `(?s)^\[sudo\] password for bash: ?\nroot\n$`, 3)

	// The same by hand.
	lab.TypeUntil(t, s, "sudo id -u\r", `password for bash: $`)
	lab.TypeUntil(t, s, secret+"\r", `\n0\r\n(?s:.*)\$ $`)
	lab.WantTerminalExec(t, s, "id -un", "bash\n", 0)
	lab.WantUnseen(t, s, secret)
}

func scenarioSudoTwice(t *testing.T, l *lab.Shells) {
	s := l.Open(t, "bash")
	r := asks(t, s, "sudo id -un", prompt.Password)
	r = lab.ReplySecret(t, s, r, "not the password-1138\r")
	lab.WantWaiting(t, s, r, prompt.Password)
	if !strings.Contains(string(r.Stdout.Bytes()), "Sorry, try again") {
		t.Errorf("nothing says that it was wrong: %q", r.Stdout.Bytes())
	}
	wantEnded(t, s, lab.ReplySecret(t, s, r, l.Users["bash"].Password+"\r"), `root\n$`, 0)
	lab.WantUnseen(t, s, "not the password-1138")
}

func scenarioPasswd(t *testing.T, l *lab.Shells) {
	s := l.Open(t, "zsh")
	const fresh = "fresh-Secret-1138"
	r := asks(t, s, "passwd", prompt.Password)
	for _, secret := range []string{l.Users["zsh"].Password, fresh} {
		r = lab.ReplySecret(t, s, r, secret+"\r")
		lab.WantWaiting(t, s, r, prompt.Password)
	}
	wantEnded(t, s, lab.ReplySecret(t, s, r, fresh+"\r"), `password updated successfully`, 0)
	lab.WantUnseen(t, s, fresh)
	lab.WantUnseen(t, s, l.Users["zsh"].Password)
}

func scenarioSu(t *testing.T, l *lab.Shells) {
	s := l.Open(t, "bash")
	secret := l.Users["mksh"].Password
	lab.TypeUntil(t, s, "su mksh\r", `Password: $`)
	wantBusy(t, s, prompt.Password)
	lab.TypeUntil(t, s, secret+"\r", `\$ $`)
	lab.WantTerminalExec(t, s, "id -un; (exit 4)", "mksh\n", 4)
	lab.TypeUntil(t, s, "exit\r", `bash@\S+\$ $`)
	lab.WantTerminalExec(t, s, "id -un", "bash\n", 0)
	lab.WantUnseen(t, s, secret)
}

func scenarioLess(t *testing.T, l *lab.Shells) {
	s := l.Open(t, "bash")
	lab.TypeUntil(t, s, "seq 1000 | less\r", `\x1b\[\?1049h(?s:.*)39\r\n:`)
	lab.TypeUntil(t, s, " ", `(?s)78\r\n.*:`)
	lab.TypeUntil(t, s, "/777\r", `777`)
	lab.TypeUntil(t, s, "G", `(?s)1000\r\n.*\(END\)`)
	lab.TypeUntil(t, s, "q", `\x1b\[\?1049l(?s:.*)\$ $`)

	// Started by a command, it is the editor kind of thing: it has the whole screen.
	r := asks(t, s, "seq 1000 | less; (exit 5)", prompt.Editor)
	wantEnded(t, s, lab.Reply(t, s, r, "q"), ``, 5)
	r = asks(t, s, "seq 1000 | less -X", prompt.Pager)
	wantEnded(t, s, lab.Reply(t, s, r, "q"), `1\n2\n`, 0)
}

func scenarioVim(t *testing.T, l *lab.Shells) {
	s := l.Open(t, "bash")
	lab.TypeUntil(t, s, "vim -Nu NONE written\r", `\x1b\[\?1049h(?s:.*)~`)
	s.Read(t.Context(), session.ReadRequest{Cursor: session.Latest, Idle: 300 * time.Millisecond, Timeout: lab.Patience})
	wantBusy(t, s, prompt.Editor)
	lab.TypeUntil(t, s, "ione\rthree\x1b", `three`)
	press(t, s, "arrow_up", `.`)
	lab.TypeUntil(t, s, "otwo\x1b:wq\r", `written(?s:.*)\x1b\[\?1049l(?s:.*)\$ $`)
	lab.WantTerminalExec(t, s, "cat written", "one\ntwo\nthree\n", 0)

	r := asks(t, s, "vim -Nu NONE written; cat written; (exit 6)", prompt.Editor)
	wantEnded(t, s, lab.Reply(t, s, r, "ddZZ"), `two\nthree\n$`, 6)
}

func scenarioPython(t *testing.T, l *lab.Shells) {
	s := l.Open(t, "bash")
	lab.TypeUntil(t, s, "/usr/bin/python3 -q\r", `>>> $`)
	lab.TypeUntil(t, s, "for i in range(3):\r", `\.\.\. $`)
	lab.TypeUntil(t, s, "  print(i * 11)\r\r", `\n22\r\n(?s:.*)>>> $`)
	lab.TypeUntil(t, s, "print('spin' + 'ning'); exec('while 1: pass')\r", `spinning\r\n`)
	lab.TypeUntil(t, s, "\x03", `KeyboardInterrupt(?s:.*)>>> $`)
	wantBusy(t, s, prompt.REPL)
	lab.TypeUntil(t, s, "exit(7)\r", `\$ $`)

	r := asks(t, s, "/usr/bin/python3 -q", prompt.REPL)
	wantEnded(t, s, lab.Reply(t, s, r, "exit(7)\r"), `>>> exit\(7\)`, 7)
	wantEnded(t, s, lab.TerminalExec(t, s, "/usr/bin/python3 -c 'print(6*7)'"), `^42\n$`, 0)
}

func scenarioGDB(t *testing.T, l *lab.Shells) {
	s := l.Open(t, "bash")
	lab.TypeUntil(t, s, "gdb -q -nx /bin/true\r", `\(gdb\) $`)
	lab.TypeUntil(t, s, "print 6*7\r", `\$1 = 42\r\n(?s:.*)\(gdb\) $`)
	lab.TypeUntil(t, s, "shell sleep 98765.1\r", `\r\n`)
	l.WantRunning(t, "sleep 98765.1")
	lab.TypeUntil(t, s, "\x03", `\(gdb\) $`)
	l.WantGone(t, "sleep 98765.1")
	lab.TypeUntil(t, s, "quit\r", `\$ $`)
	r := asks(t, s, "gdb -q -nx", prompt.REPL)
	wantEnded(t, s, lab.Reply(t, s, r, "quit 9\r"), `quit 9`, 9)
}

// top never comes to rest.
func scenarioTop(t *testing.T, l *lab.Shells) {
	s := l.Open(t, "bash")
	w, err := s.Write(t.Context(), []byte("top -d 0.3\r"), session.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c := s.Read(t.Context(), session.ReadRequest{Cursor: w.Cursor, Idle: time.Second, Timeout: 1500 * time.Millisecond})
	if c.Reason != session.ReasonTimeout || !strings.Contains(string(c.Data), "load average") {
		t.Errorf("stopped for %s with %q", c.Reason, c.Data)
	}
	wantBusy(t, s, "")
	lab.TypeUntil(t, s, "q", `\$ $`)

	r, err := s.Exec(
		t.Context(),
		session.ExecRequest{Command: "top -d 0.3", Lane: session.LaneTerminal, Timeout: time.Second},
	)
	if err != nil || r.Exit.Known && r.Exit.Code == 0 && !r.TimedOut {
		t.Errorf("%s, %+v, %v; want it to be stopped", r.Done, r.Exit, err)
	}
	l.WantGone(t, "top -d 0.3")
	lab.WantTerminalExec(t, s, "echo back", "back\n", 0)
}

// Commands run where the terminal is, however deep.
func scenarioNested(t *testing.T, l *lab.Shells) {
	s := l.Open(t, "bash")
	for _, nested := range []struct{ start, prompt string }{
		{"sh", `\$ $`}, {"bash --norc", `bash-\S+\$ $`}, {"/bin/busybox ash", `\$ `}, {"mksh", `\$ $`}, {"zsh -f", `% `},
	} {
		lab.TypeUntil(t, s, nested.start+"\r", `\r\n(?s:.*)`+nested.prompt)
		s.Read(t.Context(), session.ReadRequest{Cursor: session.Latest, Idle: 200 * time.Millisecond, Timeout: lab.Patience})
		lab.WantTerminalExec(t, s, "cd /; NESTED='"+nested.start+"'; (exit 4)", "", 4)
		lab.WantTerminalExec(t, s, `pwd; echo "$NESTED"`, "/\n"+nested.start+"\n", 0)
		labWait(t, s) // typed before the prompt, it would have the next one begin in the middle of a line
		lab.TypeUntil(t, s, "exit\r", `bash@\S+\$ $`)
		lab.WantTerminalExec(t, s, `pwd; echo "[$NESTED]"`, "/run/lab/home/bash\n[]\n", 0)
	}
	// A command may itself start a shell. Its prompt is not known for one, so that the command just goes on.
	r, err := s.Exec(
		t.Context(),
		session.ExecRequest{Command: "bash --norc", Lane: session.LaneTerminal, Wait: time.Second},
	)
	if err != nil || r.Done != session.DoneRunning {
		t.Fatalf("%s, %+v, %v", r.Done, r.Exit, err)
	}
	wantEnded(t, s, lab.Reply(t, s, r, "exit 12\r"), `exit 12`, 12)
}

func scenarioContainer(t *testing.T, l *lab.Shells) {
	s := l.Open(t, "dash")
	const container = "sudo unshare --uts --pid --fork --mount --mount-proc /bin/sh -c 'hostname labctr; exec /bin/busybox sh'"
	lab.TypeUntil(t, s, container+"\r", `# `)
	s.Read(t.Context(), session.ReadRequest{Cursor: session.Latest, Idle: 300 * time.Millisecond, Timeout: lab.Patience})
	lab.WantTerminalExec(t, s, "hostname; echo $$", "labctr\n1\n", 0)
	lab.WantTerminalExec(t, s, "cd /tmp && sh -c 'exit 5'", "", 5)
	lab.WantTerminalExec(t, s, "pwd", "/tmp\n", 0)
	lab.TypeUntil(t, s, "exit 9\r", `\$ $`)
	lab.WantTerminalExec(t, s, "hostname | grep -c labctr", "0\n", 1)
	wantEnded(t, s, lab.TerminalExec(t, s, "sudo unshare --uts sh -c 'hostname x; hostname; exit 9'"), `^x\n$`, 9)
}

func scenarioIgnoresInterrupt(t *testing.T, l *lab.Shells) {
	s := l.Open(t, "bash")
	lab.TypeUntil(t, s, "sh -c \"trap 'echo I will not' INT; echo begun; while :; do sleep 1; done\"\r", `begun\r\n`)
	for range 3 {
		lab.TypeUntil(t, s, "\x03", `I will not`)
	}
	wantBusy(t, s, "")
	lab.TypeUntil(t, s, "\x1c", `Quit(?s:.*)\$ $`)
	lab.WantTerminalExec(t, s, "echo back", "back\n", 0)
}

func scenarioJobControl(t *testing.T, l *lab.Shells) {
	s := l.Open(t, "bash")
	lab.TypeUntil(t, s, "sleep 98765.2\r", `\r\n`)
	pid := l.WantRunning(t, "sleep 98765.2")
	lab.TypeUntil(t, s, "\x1a", `Stopped(?s:.*)\$ $`)
	wantEnded(t, s, lab.TerminalExec(t, s, "jobs"), `Stopped +sleep 98765.2`, 0)
	lab.TypeUntil(t, s, "fg\r", `sleep 98765\.2`)
	// The shell has shown the command; it then gives it the terminal, and lets it go on last.
	lab.Eventually(t, "the job in the foreground", func() bool {
		return l.Run(t, "grep '^State:.*stopped' /proc/"+pid+"/status || true") == ""
	})
	lab.TypeUntil(t, s, "\x03", `\^C(?s:.*)\$ $`)
	lab.WantTerminalExec(t, s, "jobs", "", 0)
	l.WantGone(t, "sleep 98765.2")
}

func scenarioNoEcho(t *testing.T, l *lab.Shells) {
	s := l.Open(t, "bash")
	const secret = "no-echo-Secret-1138"
	r := asks(t, s, `stty -echo; printf 'PIN: '; read -r pin; stty echo; echo; echo "${#pin}"`, prompt.Password)
	wantEnded(t, s, lab.ReplySecret(t, s, r, secret+"\r"), `\n19\n$`, 0)
	// Left without an echo, the terminal still runs commands.
	for _, command := range []string{"stty -echo", "echo unseen", "stty echo", "echo seen"} {
		want := ""
		if word, ok := strings.CutPrefix(command, "echo "); ok {
			want = word + "\n"
		}
		lab.WantTerminalExec(t, s, command, want, 0)
	}
	lab.WantUnseen(t, s, secret)
}

func scenarioYesNo(t *testing.T, l *lab.Shells) {
	s := l.Open(t, "bash")
	r := asks(t, s, `printf 'Do you want to continue? [Y/n] '; read -r a; [ "$a" = y ]`, prompt.YesNo)
	wantEnded(t, s, lab.Reply(t, s, r, "n\r"), ``, 1)
	// Not every question is known as one: then the command just goes on.
	r, err := s.Exec(
		t.Context(),
		session.ExecRequest{Command: `touch f; chmod 400 f; rm -i f`, Lane: session.LaneTerminal, Wait: time.Second},
	)
	if err != nil || r.Done != session.DoneRunning || !strings.Contains(string(r.Stdout.Bytes()), "rm: remove") {
		t.Fatalf("%s, %q, %v", r.Done, r.Stdout.Bytes(), err)
	}
	wantEnded(t, s, lab.Reply(t, s, r, "y\r"), `rm: remove`, 0)
}
