package integration

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/leaktest"
	"ptyctl/session"
	"ptyctl/session/prompt"
)

// TestScenario drives real programs in a terminal of a real sshd, as an operator does: by typing and reading, and by
// commands that turn out to ask something.
func TestScenario(t *testing.T) {
	for _, file := range []string{"/usr/bin/sudo", "/usr/bin/passwd", "/usr/bin/su", "/usr/bin/vim", "/usr/bin/less", "/usr/bin/python3", "/usr/bin/gdb", "/usr/bin/top", "/usr/bin/unshare"} {
		if _, err := os.Stat(file); err != nil {
			t.Fatalf("%v: run scripts/install-test-deps", err)
		}
	}
	l := startShells(t)
	l.file(
		t,
		"/etc/sudoers",
		"440",
		"bash ALL=(ALL:ALL) ALL\ndash ALL=(ALL:ALL) NOPASSWD: ALL\nDefaults !lecture, timestamp_timeout=0\n",
	)
	const pam = "auth required pam_unix.so nodelay\naccount required pam_permit.so\npassword required pam_unix.so\nsession required pam_permit.so\n"
	for _, service := range []string{"sudo", "su", "su-l"} {
		l.file(t, "/etc/pam.d/"+service, "644", pam)
	}
	for _, test := range []struct {
		name string
		run  func(*testing.T, *shellsLab)
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
	r, err := s.Exec(t.Context(), session.ExecRequest{Command: command, Lane: session.LaneTerminal, Timeout: 2 * patience})
	if err != nil {
		t.Logf("the terminal shows %q", screenful(s))
		labFatal(t, err)
	}
	wantAsks(t, s, r, kind)
	if took := time.Since(began); took > patience/2 {
		t.Errorf("the question came after %s", took)
	}
	return r
}

func wantAsks(t *testing.T, s *session.Session, r session.ExecResult, kind string) {
	t.Helper()
	if r.Done != session.DoneRunning || r.WaitingFor == nil || r.WaitingFor.Kind != kind {
		t.Fatalf(
			"it is %s (%+v), waiting for %+v; want it to wait for %s; the terminal shows %q",
			r.Done,
			r.Exit,
			r.WaitingFor,
			kind,
			screenful(s),
		)
	}
}

// reply types an answer to what a command has asked, and waits on.
func reply(t *testing.T, s *session.Session, r session.ExecResult, text string) session.ExecResult {
	t.Helper()
	return answerWith(t, s, r, text, session.WriteOptions{})
}

// confide is reply with a secret.
func confide(t *testing.T, s *session.Session, r session.ExecResult, text string) session.ExecResult {
	t.Helper()
	leaktest.Typed(t, text)
	return answerWith(t, s, r, text, session.WriteOptions{Sensitive: true})
}

func answerWith(
	t *testing.T,
	s *session.Session,
	r session.ExecResult,
	text string,
	o session.WriteOptions,
) session.ExecResult {
	t.Helper()
	w, err := s.Write(t.Context(), []byte(text), o)
	if err != nil {
		t.Fatal(err)
	}
	// Its echo, or the line end that a program shows in place of one: until then, the question still stands there.
	s.Read(t.Context(), session.ReadRequest{Cursor: w.Cursor, Timeout: patience})
	r, err = s.ContinueExec(t.Context(), r.ID, patience, 0)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// wantEnded fails the test unless the command has ended with code and put out what matches.
func wantEnded(t *testing.T, s *session.Session, r session.ExecResult, output string, code int) {
	t.Helper()
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
			screenful(s),
		)
	}
}

// wantUnseen fails the test if the terminal ever showed the secret.
func wantUnseen(t *testing.T, s *session.Session, secret string) {
	t.Helper()
	if all := s.Read(t.Context(), session.ReadRequest{Tail: true}); strings.Contains(string(all.Data), secret) {
		t.Errorf("the secret is in the output: %q", all.Data)
	}
}

func scenarioSudo(t *testing.T, l *shellsLab) {
	s := l.open(t, "bash")
	secret := l.users["bash"].password
	r := asks(t, s, "sudo sh -c 'id -un; exit 3'", prompt.Password)
	wantEnded(t, s, confide(t, s, r, secret+"\r"), `(?s)^\[sudo\] password for bash: ?\nroot\n$`, 3)

	// The same by hand.
	labType(t, s, "sudo id -u\r", `password for bash: $`)
	labType(t, s, secret+"\r", `\n0\r\n(?s:.*)\$ $`)
	wantTerminal(t, s, "id -un", "bash\n", 0)
	wantUnseen(t, s, secret)
}

func scenarioSudoTwice(t *testing.T, l *shellsLab) {
	s := l.open(t, "bash")
	r := asks(t, s, "sudo id -un", prompt.Password)
	r = confide(t, s, r, "not the password-1138\r")
	wantAsks(t, s, r, prompt.Password)
	if !strings.Contains(string(r.Stdout.Bytes()), "Sorry, try again") {
		t.Errorf("nothing says that it was wrong: %q", r.Stdout.Bytes())
	}
	wantEnded(t, s, confide(t, s, r, l.users["bash"].password+"\r"), `root\n$`, 0)
	wantUnseen(t, s, "not the password-1138")
}

func scenarioPasswd(t *testing.T, l *shellsLab) {
	s := l.open(t, "zsh")
	const fresh = "fresh-Secret-1138"
	r := asks(t, s, "passwd", prompt.Password)
	for _, secret := range []string{l.users["zsh"].password, fresh} {
		r = confide(t, s, r, secret+"\r")
		wantAsks(t, s, r, prompt.Password)
	}
	wantEnded(t, s, confide(t, s, r, fresh+"\r"), `password updated successfully`, 0)
	wantUnseen(t, s, fresh)
	wantUnseen(t, s, l.users["zsh"].password)
}

func scenarioSu(t *testing.T, l *shellsLab) {
	s := l.open(t, "bash")
	secret := l.users["mksh"].password
	labType(t, s, "su mksh\r", `Password: $`)
	wantBusy(t, s, prompt.Password)
	labType(t, s, secret+"\r", `\$ $`)
	wantTerminal(t, s, "id -un; (exit 4)", "mksh\n", 4)
	labType(t, s, "exit\r", `bash@\S+\$ $`)
	wantTerminal(t, s, "id -un", "bash\n", 0)
	wantUnseen(t, s, secret)
}

func scenarioLess(t *testing.T, l *shellsLab) {
	s := l.open(t, "bash")
	labType(t, s, "seq 1000 | less\r", `\x1b\[\?1049h(?s:.*)39\r\n:`)
	labType(t, s, " ", `(?s)78\r\n.*:`)
	labType(t, s, "/777\r", `777`)
	labType(t, s, "G", `(?s)1000\r\n.*\(END\)`)
	labType(t, s, "q", `\x1b\[\?1049l(?s:.*)\$ $`)

	// Started by a command, it is the editor kind of thing: it has the whole screen.
	r := asks(t, s, "seq 1000 | less; (exit 5)", prompt.Editor)
	wantEnded(t, s, reply(t, s, r, "q"), ``, 5)
	r = asks(t, s, "seq 1000 | less -X", prompt.Pager)
	wantEnded(t, s, reply(t, s, r, "q"), `1\n2\n`, 0)
}

func scenarioVim(t *testing.T, l *shellsLab) {
	s := l.open(t, "bash")
	labType(t, s, "vim -Nu NONE written\r", `\x1b\[\?1049h(?s:.*)~`)
	s.Read(t.Context(), session.ReadRequest{Cursor: session.Latest, Idle: 300 * time.Millisecond, Timeout: patience})
	wantBusy(t, s, prompt.Editor)
	labType(t, s, "ione\rthree\x1b", `three`)
	press(t, s, "arrow_up", `.`)
	labType(t, s, "otwo\x1b:wq\r", `written(?s:.*)\x1b\[\?1049l(?s:.*)\$ $`)
	wantTerminal(t, s, "cat written", "one\ntwo\nthree\n", 0)

	r := asks(t, s, "vim -Nu NONE written; cat written; (exit 6)", prompt.Editor)
	wantEnded(t, s, reply(t, s, r, "ddZZ"), `two\nthree\n$`, 6)
}

func scenarioPython(t *testing.T, l *shellsLab) {
	s := l.open(t, "bash")
	labType(t, s, "/usr/bin/python3 -q\r", `>>> $`)
	labType(t, s, "for i in range(3):\r", `\.\.\. $`)
	labType(t, s, "  print(i * 11)\r\r", `\n22\r\n(?s:.*)>>> $`)
	labType(t, s, "print('spin' + 'ning'); exec('while 1: pass')\r", `spinning\r\n`)
	labType(t, s, "\x03", `KeyboardInterrupt(?s:.*)>>> $`)
	wantBusy(t, s, prompt.REPL)
	labType(t, s, "exit(7)\r", `\$ $`)

	r := asks(t, s, "/usr/bin/python3 -q", prompt.REPL)
	wantEnded(t, s, reply(t, s, r, "exit(7)\r"), `>>> exit\(7\)`, 7)
	wantEnded(t, s, terminal(t, s, "/usr/bin/python3 -c 'print(6*7)'"), `^42\n$`, 0)
}

func scenarioGDB(t *testing.T, l *shellsLab) {
	s := l.open(t, "bash")
	labType(t, s, "gdb -q -nx /bin/true\r", `\(gdb\) $`)
	labType(t, s, "print 6*7\r", `\$1 = 42\r\n(?s:.*)\(gdb\) $`)
	labType(t, s, "shell sleep 98765.1\r", `\r\n`)
	l.wantRunning(t, "sleep 98765.1")
	labType(t, s, "\x03", `\(gdb\) $`)
	l.wantGone(t, "sleep 98765.1", time.Second)
	labType(t, s, "quit\r", `\$ $`)
	r := asks(t, s, "gdb -q -nx", prompt.REPL)
	wantEnded(t, s, reply(t, s, r, "quit 9\r"), `quit 9`, 9)
}

// top never comes to rest.
func scenarioTop(t *testing.T, l *shellsLab) {
	s := l.open(t, "bash")
	w, err := s.Write(t.Context(), []byte("top -d 0.3\r"), session.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c := s.Read(t.Context(), session.ReadRequest{Cursor: w.Cursor, Idle: time.Second, Timeout: 1500 * time.Millisecond})
	if c.Reason != session.ReasonTimeout || !strings.Contains(string(c.Data), "load average") {
		t.Errorf("stopped for %s with %q", c.Reason, c.Data)
	}
	wantBusy(t, s, "")
	labType(t, s, "q", `\$ $`)

	r, err := s.Exec(
		t.Context(),
		session.ExecRequest{Command: "top -d 0.3", Lane: session.LaneTerminal, Timeout: time.Second},
	)
	if err != nil || r.Exit.Known && r.Exit.Code == 0 && !r.TimedOut {
		t.Errorf("%s, %+v, %v; want it to be stopped", r.Done, r.Exit, err)
	}
	l.wantGone(t, "top -d 0.3", 2*time.Second)
	wantTerminal(t, s, "echo back", "back\n", 0)
}

// Commands run where the terminal is, however deep.
func scenarioNested(t *testing.T, l *shellsLab) {
	s := l.open(t, "bash")
	for _, nested := range []struct{ start, prompt string }{
		{"sh", `\$ $`}, {"bash --norc", `bash-\S+\$ $`}, {"/bin/busybox ash", `\$ `}, {"mksh", `\$ $`}, {"zsh -f", `% `},
	} {
		labType(t, s, nested.start+"\r", `\r\n(?s:.*)`+nested.prompt)
		s.Read(t.Context(), session.ReadRequest{Cursor: session.Latest, Idle: 200 * time.Millisecond, Timeout: patience})
		wantTerminal(t, s, "cd /; NESTED='"+nested.start+"'; (exit 4)", "", 4)
		wantTerminal(t, s, `pwd; echo "$NESTED"`, "/\n"+nested.start+"\n", 0)
		labWait(t, s) // typed before the prompt, it would have the next one begin in the middle of a line
		labType(t, s, "exit\r", `bash@\S+\$ $`)
		wantTerminal(t, s, `pwd; echo "[$NESTED]"`, "/run/lab/home/bash\n[]\n", 0)
	}
	// A command may itself start a shell. Its prompt is not known for one, so that the command just goes on.
	r, err := s.Exec(
		t.Context(),
		session.ExecRequest{Command: "bash --norc", Lane: session.LaneTerminal, Wait: time.Second},
	)
	if err != nil || r.Done != session.DoneRunning {
		t.Fatalf("%s, %+v, %v", r.Done, r.Exit, err)
	}
	wantEnded(t, s, reply(t, s, r, "exit 12\r"), `exit 12`, 12)
}

func scenarioContainer(t *testing.T, l *shellsLab) {
	s := l.open(t, "dash")
	const container = "sudo unshare --uts --pid --fork --mount --mount-proc /bin/sh -c 'hostname labctr; exec /bin/busybox sh'"
	labType(t, s, container+"\r", `# `)
	s.Read(t.Context(), session.ReadRequest{Cursor: session.Latest, Idle: 300 * time.Millisecond, Timeout: patience})
	wantTerminal(t, s, "hostname; echo $$", "labctr\n1\n", 0)
	wantTerminal(t, s, "cd /tmp && sh -c 'exit 5'", "", 5)
	wantTerminal(t, s, "pwd", "/tmp\n", 0)
	labType(t, s, "exit 9\r", `\$ $`)
	wantTerminal(t, s, "hostname | grep -c labctr", "0\n", 1)
	wantEnded(t, s, terminal(t, s, "sudo unshare --uts sh -c 'hostname x; hostname; exit 9'"), `^x\n$`, 9)
}

func scenarioIgnoresInterrupt(t *testing.T, l *shellsLab) {
	s := l.open(t, "bash")
	labType(t, s, "sh -c \"trap 'echo I will not' INT; echo begun; while :; do sleep 1; done\"\r", `begun\r\n`)
	for range 3 {
		labType(t, s, "\x03", `I will not`)
	}
	wantBusy(t, s, "")
	labType(t, s, "\x1c", `Quit(?s:.*)\$ $`)
	wantTerminal(t, s, "echo back", "back\n", 0)
}

func scenarioJobControl(t *testing.T, l *shellsLab) {
	s := l.open(t, "bash")
	labType(t, s, "sleep 98765.2\r", `\r\n`)
	l.wantRunning(t, "sleep 98765.2")
	labType(t, s, "\x1a", `Stopped(?s:.*)\$ $`)
	wantEnded(t, s, terminal(t, s, "jobs"), `Stopped +sleep 98765.2`, 0)
	labType(t, s, "fg\r", `sleep 98765\.2`)
	labType(t, s, "\x03", `\^C(?s:.*)\$ $`)
	wantTerminal(t, s, "jobs", "", 0)
	l.wantGone(t, "sleep 98765.2", time.Second)
}

func scenarioNoEcho(t *testing.T, l *shellsLab) {
	s := l.open(t, "bash")
	const secret = "no-echo-Secret-1138"
	r := asks(t, s, `stty -echo; printf 'PIN: '; read -r pin; stty echo; echo; echo "${#pin}"`, prompt.Password)
	wantEnded(t, s, confide(t, s, r, secret+"\r"), `\n19\n$`, 0)
	// Left without an echo, the terminal still runs commands.
	for _, command := range []string{"stty -echo", "echo unseen", "stty echo", "echo seen"} {
		want := ""
		if word, ok := strings.CutPrefix(command, "echo "); ok {
			want = word + "\n"
		}
		wantTerminal(t, s, command, want, 0)
	}
	wantUnseen(t, s, secret)
}

func scenarioYesNo(t *testing.T, l *shellsLab) {
	s := l.open(t, "bash")
	r := asks(t, s, `printf 'Do you want to continue? [Y/n] '; read -r a; [ "$a" = y ]`, prompt.YesNo)
	wantEnded(t, s, reply(t, s, r, "n\r"), ``, 1)
	// Not every question is known as one: then the command just goes on.
	r, err := s.Exec(
		t.Context(),
		session.ExecRequest{Command: `touch f; chmod 400 f; rm -i f`, Lane: session.LaneTerminal, Wait: time.Second},
	)
	if err != nil || r.Done != session.DoneRunning || !strings.Contains(string(r.Stdout.Bytes()), "rm: remove") {
		t.Fatalf("%s, %q, %v", r.Done, r.Stdout.Bytes(), err)
	}
	wantEnded(t, s, reply(t, s, r, "y\r"), `rm: remove`, 0)
}
