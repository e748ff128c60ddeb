package integration

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/leaktest"
	"ptyctl/session"
	"ptyctl/term"
)

// A loginShell is an account of the lab whose login shell it is.
type loginShell struct {
	name    string // of the shell, and of the account
	program string
	class   session.Class
	rc      string // startup file in the account's home, which exists though it is empty
}

// The shells of the tests. zsh asks its newcomers questions unless there is a startup file.
var loginShells = []loginShell{
	{"bash", "/bin/bash", session.ClassPosix, ".bash_profile"},
	{"dash", "/bin/dash", session.ClassPosix, ".profile"},
	{"zsh", "/bin/zsh", session.ClassPosix, ".zshrc"},
	{"fish", "/usr/bin/fish", session.ClassFish, ".fishrc"},
	{"mksh", "/bin/mksh", session.ClassPosix, ".mkshrc"},
	{"tcsh", "/bin/tcsh", session.ClassCsh, ".tcshrc"},
	{"ash", "/bin/busybox", session.ClassPosix, ".profile"},
	{"rbash", "/bin/rbash", session.ClassPosix, ".bash_profile"},
}

// shellsAsh is the login shell of the account ash: busybox runs the applet it is called as.
const shellsAsh = "/run/lab/ash"

// shellsFirstUID is above the uids of the lab's own accounts.
const shellsFirstUID = 61200

// A shellsLab is a lab with an account for each shell, and one sshd that they can all log in to.
type shellsLab struct {
	*lab
	server *labServer
}

// startShells makes the lab. It ends with the test, which fails if anything that a test has started still runs there.
func startShells(t *testing.T) *shellsLab {
	t.Helper()
	l := &shellsLab{lab: startLab(t)}
	l.run(t, "ln -s /bin/busybox "+shellsAsh)
	for i, sh := range loginShells {
		if _, err := os.Stat(sh.program); err != nil {
			t.Fatalf("%v: run scripts/install-test-deps", err)
		}
		program := sh.program
		if sh.name == "ash" {
			program = shellsAsh
		}
		l.account(t, shellsFirstUID+i, sh.name, program)
		l.run(t, fmt.Sprintf("touch /run/lab/home/%s/%s", sh.name, sh.rc))
	}
	l.server = l.sshd(t, labSSHD{config: "MaxSessions 50\nSetEnv HISTFILE=/dev/null LANG=C.UTF-8"})
	return l
}

// account adds a user with a login shell and a password.
func (l *shellsLab) account(t *testing.T, uid int, name, shell string) {
	t.Helper()
	u := &labUser{name: name, password: leaktest.Secret(t, "the password of "+name+"-1138"), key: newLabKey(t, "ed25519")}
	l.users[name] = u
	l.file(t, "/etc/ssh/lab/authorized/"+name, "644", u.key.authorized())
	l.run(t, fmt.Sprintf(`h=/run/lab/home/%[1]s
echo '%[1]s:x:%[2]d:%[2]d::'$h':%[3]s' >>/etc/passwd
echo '%[1]s:*:19000:0:99999:7:::' >>/etc/shadow
echo '%[1]s:x:%[2]d:' >>/etc/group
echo '%[1]s:%[4]s' | chpasswd --crypt-method SHA256
mkdir $h
chown %[2]d:%[2]d $h`, name, uid, shell, u.password))
}

// open logs in as the user, and waits until the shell has shown its prompt.
func (l *shellsLab) open(t *testing.T, user string) *session.Session {
	t.Helper()
	s := l.operator(t, l.server).mustOpen(l.server.withKey(l.users[user]))
	labRead(t, s, 0, `[$%>#] `)
	s.Read(
		t.Context(),
		session.ReadRequest{Cursor: session.Latest, Idle: 100 * time.Millisecond, Timeout: patience},
	) // fish redraws it
	return s
}

// terminal runs a command in the terminal.
func terminal(t *testing.T, s *session.Session, command string) session.ExecResult {
	t.Helper()
	r, err := s.Exec(t.Context(), session.ExecRequest{Command: command, Lane: session.LaneTerminal, Timeout: patience})
	if err != nil {
		t.Errorf("%.200q was not run; the terminal shows %q", command, screenful(s))
		labFatal(t, err)
	}
	return r
}

// wantTerminal fails the test unless a command in the terminal puts out exactly output and ends with code.
func wantTerminal(t *testing.T, s *session.Session, command, output string, code int) {
	t.Helper()
	r := terminal(t, s, command)
	if got := string(r.Stdout.Bytes()); got != output || !r.Exit.Known || r.Exit.Code != code ||
		r.Done != session.DoneMarker {
		t.Errorf("%.200q: put out %.300q and ended with %+v (%s, %s); want %.300q and code %d; the terminal shows %.1000q",
			command, got, r.Exit, r.Done, r.ExitReason, output, code, screenful(s))
	}
}

// screenful is what the terminal shows last.
func screenful(s *session.Session) []byte {
	return s.Read(context.Background(), session.ReadRequest{Tail: true, MaxBytes: 1500}).Data
}

// refusedInTerminal fails the test unless the command is refused with that kind of error before a byte is typed.
func refusedInTerminal(t *testing.T, s *session.Session, r session.ExecRequest, kind term.Kind) *term.Error {
	t.Helper()
	r.Lane = session.LaneTerminal
	before := s.Info().BytesOut
	res, err := s.Exec(t.Context(), r)
	if err == nil {
		t.Fatalf(
			"%.200q was run: %s, %q; want %s; the terminal shows %q",
			r.Command,
			res.Done,
			res.Stdout.Bytes(),
			kind,
			screenful(s),
		)
	}
	e := labWantError(t, err, kind)
	if typed := s.Info().BytesOut - before; typed != 0 {
		t.Errorf("%.200q: refused, and %d bytes were typed all the same", r.Command, typed)
	}
	return e
}

// TestShells runs awkward commands in terminals of a real sshd, each in every shell, one after the other in one
// terminal: what one leaves behind would spoil the next.
func TestShells(t *testing.T) {
	l := startShells(t)
	for _, sh := range loginShells {
		t.Run(sh.name, func(t *testing.T) {
			t.Parallel()
			s := l.open(t, sh.name)
			for _, c := range shellCommands {
				c.check(t, s, sh)
			}
			t.Run("words", func(t *testing.T) { shellsWords(t, s) })
			t.Run("a megabyte", func(t *testing.T) { shellsMegabyte(t, s) })
			t.Run("reads its input", func(t *testing.T) { shellsReadsInput(t, s) })
			t.Run("ends the shell", func(t *testing.T) { shellsExit(t, s, sh) })
		})
	}
}

func (c shellCommand) check(t *testing.T, s *session.Session, sh loginShell) {
	t.Helper()
	want := c.want
	if o, ok := c.but[sh.name]; ok {
		want = o
	} else if o, ok := c.but[string(sh.class)]; ok {
		want = o
	}
	command := c.command
	if want.command != "" {
		command = want.command
	}
	command = strings.ReplaceAll(command, "HOME", "/run/lab/home/"+sh.name)
	want.output = strings.ReplaceAll(want.output, "HOME", "/run/lab/home/"+sh.name)
	t.Run(c.name, func(t *testing.T) {
		if want.refused != "" {
			refusedInTerminal(t, s, session.ExecRequest{Command: command, Timeout: time.Second}, want.refused)
			return
		}
		r := terminal(t, s, command)
		got := string(r.Stdout.Bytes())
		switch {
		case want.reason != "":
			if r.Exit.Known || r.ExitReason != want.reason || (want.waits != "") != (r.WaitingFor != nil) ||
				want.waits != "" && r.WaitingFor.Kind != want.waits {
				t.Errorf(
					"ended with %+v (%s, %s, waiting for %+v); want no code, because %s, %s",
					r.Exit,
					r.Done,
					r.ExitReason,
					r.WaitingFor,
					want.reason,
					want.waits,
				)
			}
		case !r.Exit.Known || r.Exit.Code != want.code || r.Done != session.DoneMarker:
			t.Errorf("ended with %+v (%s, %s); want code %d", r.Exit, r.Done, r.ExitReason, want.code)
		}
		if !want.noise && want.any == "" && got != want.output || !strings.Contains(got, want.any) {
			t.Errorf("put out %.300q; want %.300q", got, want.output+want.any)
		}
		if len(r.Stderr.Bytes()) > 0 || r.Lost != 0 {
			t.Errorf("%q on stderr, %d bytes lost", r.Stderr.Bytes(), r.Lost)
		}
		if t.Failed() {
			t.Logf("%.200q; the terminal shows %.600q", command, screenful(s))
		}
	})
}

// shellsWords runs words in both lanes: they arrive as they are, whatever the shell would make of them in a line.
func shellsWords(t *testing.T, s *session.Session) {
	words := []string{
		"it's",
		`a\b\\`,
		"!! !$ wow!",
		"$HOME `id` $(id)",
		"*",
		"~",
		"a;b|c&d",
		`"`,
		"",
		"{a,b}",
		"é \t(x)",
		"-n",
		"#",
	}
	want := strings.Join(words, "|") + "|"
	for _, lane := range []session.Lane{session.LaneChannel, session.LaneTerminal} {
		r, err := s.Exec(
			t.Context(),
			session.ExecRequest{Argv: append([]string{"printf", "%s|"}, words...), Lane: lane, Timeout: patience},
		)
		if err != nil {
			labFatal(t, err)
		}
		if got := string(r.Stdout.Bytes()); got != want || r.Exit.Code != 0 {
			t.Errorf("lane %s: printf got %q and ended with %+v, want %q", lane, got, r.Exit, want)
		}
	}
}

// shellsMegabyte puts out more than a result holds; the middle is there to be read.
func shellsMegabyte(t *testing.T, s *session.Session) {
	r := terminal(t, s, `head -c 1000000 /dev/zero | tr '\000' x`)
	if !r.Exit.Known || r.Exit.Code != 0 || r.Stdout.Total != 1e6 || r.Lost != 0 || r.ID == "" {
		t.Fatalf("ended with %+v (%s), %d bytes, %d lost", r.Exit, r.ExitReason, r.Stdout.Total, r.Lost)
	}
	if both := r.Stdout.Bytes(); len(both) > 16<<10 || bytes.Count(both, []byte("x")) != len(both) {
		t.Errorf("%d bytes in the result, not all of them x", len(both))
	}
	read := len(r.Stdout.Head)
	for int64(read) < r.Stdout.TailStart {
		c, err := s.ReadExec(
			t.Context(),
			r.ID,
			"stdout",
			session.ReadRequest{Cursor: int64(read), MaxBytes: int(r.Stdout.TailStart) - read},
		)
		if err != nil || len(c.Data) == 0 || c.Dropped != 0 || bytes.Count(c.Data, []byte("x")) != len(c.Data) {
			t.Fatalf("the middle from %d on: %d bytes, %d dropped, %v", read, len(c.Data), c.Dropped, err)
		}
		read += len(c.Data)
	}
}

// shellsReadsInput answers a command that reads the terminal: it gets the answer, and not the markers.
func shellsReadsInput(t *testing.T, s *session.Session) {
	r, err := s.Exec(
		t.Context(),
		session.ExecRequest{Command: `head -n1; sh -c 'exit 8'`, Lane: session.LaneTerminal, Wait: 300 * time.Millisecond},
	)
	if err != nil {
		labFatal(t, err)
	}
	if r.Done != session.DoneRunning || r.Stdout.Total != 0 {
		t.Fatalf("before the answer: %s, %+v, %q", r.Done, r.Exit, r.Stdout.Bytes())
	}
	if _, err := s.Write(t.Context(), []byte("the answer\r"), session.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	r, err = s.ContinueExec(t.Context(), r.ID, patience, 0)
	// The first is the terminal's echo.
	if got := string(r.Stdout.Bytes()); err != nil || got != "the answer\nthe answer\n" || !r.Exit.Known ||
		r.Exit.Code != 8 {
		t.Errorf("after the answer: %q, %+v (%s), %v", got, r.Exit, r.ExitReason, err)
	}
}

// shellsExit runs a command that ends the shell itself.
func shellsExit(t *testing.T, s *session.Session, sh loginShell) {
	if sh.class == session.ClassCsh { // there, exit only ends the eval that it stands in
		wantTerminal(t, s, "echo bye; exit 3", "bye\n", 3)
		return
	}
	r := terminal(t, s, "echo bye; exit 3")
	if got := string(r.Stdout.Bytes()); !strings.HasPrefix(got, "bye\n") || r.Done != session.DoneEOF || !r.Exit.Known ||
		r.Exit.Code != 3 {
		t.Errorf(
			"put out %q and ended with %+v (%s, %s); want the end of the session with code 3",
			got,
			r.Exit,
			r.Done,
			r.ExitReason,
		)
	}
	if end := labWantEnd(t, s, patience); end.Exit.Code != 3 {
		t.Errorf("the session ended with %+v", end)
	}
}
