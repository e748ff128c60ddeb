package shells

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/ptyx"
	"ptyctl/session"
	"ptyctl/term"
)

// A farTerminal hides the features that only a terminal of this machine has, and answers the question for the login
// shell, as SSH servers do.
type farTerminal struct {
	term.Transport
	shell string
}

func (f farTerminal) Exec(_ context.Context, _ term.ExecRequest, stdout, _ io.Writer) (term.Exit, error) {
	_, err := io.WriteString(stdout, "/bin/"+f.shell+"\n")
	return term.Exit{Known: true}, err
}

// open starts the shell and waits for its prompt.
func (p promptRow) open(t *testing.T, far bool) *session.Session { return p.openIn(t, far, 100) }

// openIn is open in a window of so many columns.
func (p promptRow) openIn(t *testing.T, far bool, cols int) *session.Session {
	t.Helper()
	s := p.start(t, far, cols)
	settle(t, s)
	return s
}

// start is openIn without the wait.
func (p promptRow) start(t *testing.T, far bool, cols int) *session.Session {
	t.Helper()
	home := t.TempDir()
	if p.file != "" {
		file := filepath.Join(home, p.file)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(p.config+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := []term.EnvVar{
		{Name: "HOME", Value: home}, {Name: "ZDOTDIR", Value: home}, {Name: "LANG", Value: "C.UTF-8"}, {Name: "HISTFILE", Value: "/dev/null"},
	}
	if name, value, ok := strings.Cut(p.env, "="); ok {
		value = strings.ReplaceAll(value, `\ `, " ")
		if name == "ENV" {
			value = filepath.Join(home, value)
		}
		env = append(env, term.EnvVar{Name: name, Value: value})
	}
	size := term.PTY{Cols: cols, Rows: 30}
	tr, err := ptyx.Host{}.Open(
		context.Background(), term.Target{PTY: size, Local: term.LocalOptions{Argv: p.argv, Dir: home, Env: env}}, nil, nil,
	)
	if err != nil {
		t.Fatal(err)
	}
	if far {
		tr = farTerminal{tr, p.argv[0]}
		if p.argv[0] == "busybox" {
			tr = farTerminal{tr, "ash"}
		}
	}
	o := session.Options{PTY: size, QuietLine: p.quiet}
	if p.argv[0] == "busybox" {
		o.Expect.Class = session.ClassPosix
	}
	s := session.New(tr, o)
	t.Cleanup(func() { s.Close(context.Background(), session.CloseOptions{Force: true}) })
	return s
}

// containerRoot makes the root directory of a container: a busybox that needs no libraries.
func containerRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	busybox, err := os.ReadFile(lab.Unpacked(t, "busybox-static", "bin/busybox"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "bin/busybox")
	if err := os.WriteFile(file, busybox, 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	if err := os.Symlink("busybox", filepath.Join(root, "bin/sh")); err != nil {
		t.Fatal(err)
	}
	return root
}
