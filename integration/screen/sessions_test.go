package screen

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/internal/leaktest"
	"ptyctl/ptyx"
	"ptyctl/session"
	"ptyctl/sshx"
	"ptyctl/telnet"
	"ptyctl/term"
)

// shells opens a shell over each protocol, in a terminal of 80 by 24.
var shells = []struct {
	name string
	open func(t *testing.T) *session.Session
}{
	{"local", func(t *testing.T) *session.Session {
		return shellOf(t, map[string]term.Dialer{"local": ptyx.Host{}.Open}, term.Target{
			Protocol: "local", PTY: size,
			Local: term.LocalOptions{Argv: []string{"sh"}, Dir: t.TempDir(), Env: []term.EnvVar{{Name: "PS1", Value: "$ "}}},
		})
	}},
	{"ssh", func(t *testing.T) *session.Session {
		d := lab.StartSSHD(t)
		home := t.TempDir()
		o := sshx.Options{HomeDir: home, IdentityAgent: "none", KnownHostsPath: filepath.Join(home, "known_hosts"), ConfigPath: filepath.Join(home, "config")}
		for path, text := range map[string]string{o.KnownHostsPath: d.KnownHosts(), o.ConfigPath: "IdentitiesOnly yes\nIdentityFile " + d.Identity + "\n"} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return shellOf(t, map[string]term.Dialer{"ssh": sshx.Dialer(o)}, term.Target{
			Protocol: "ssh", Host: "127.0.0.1", Port: d.Port, User: d.User, PTY: size,
		})
	}},
	{"telnet", func(t *testing.T) *session.Session {
		d := lab.StartInetutils(t)
		target := d.Target()
		target.PTY = size
		s := shellOf(t, map[string]term.Dialer{"telnet": telnet.Dialer{}.Open}, target)
		lab.ReadUntil(t, s, 0, d.Login)
		enter(t, s, d.User)
		lab.ReadUntil(t, s, 0, `Password: $`)
		secret(t, s, d.Password)
		lab.ReadUntil(t, s, 0, d.Prompt)
		return s
	}},
}

var size = term.PTY{Term: "xterm-256color", Cols: 80, Rows: 24}

func shellOf(t *testing.T, dialers map[string]term.Dialer, target term.Target) *session.Session {
	t.Helper()
	m := session.NewManager(session.Config{Dialers: dialers, Logger: leaktest.Log(t)})
	t.Cleanup(func() { m.Close(context.Background()) })
	r, err := m.Open(t.Context(), session.OpenRequest{Target: target})
	if err != nil {
		t.Fatal(err)
	}
	return r.Session
}

// enter types a line.
func enter(t *testing.T, s *session.Session, line string) {
	t.Helper()
	if _, err := s.Write(t.Context(), []byte(line+"\r"), session.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// secret types a line that must not be shown.
func secret(t *testing.T, s *session.Session, line string) {
	t.Helper()
	leaktest.Secret(t, line)
	if _, err := s.Write(t.Context(), []byte(line+"\r"), session.WriteOptions{Sensitive: true}); err != nil {
		t.Fatal(err)
	}
}

// shown waits until the screen shows something, and returns it.
func shown(t *testing.T, s *session.Session, pattern string) session.Screen {
	t.Helper()
	c := s.Read(t.Context(), session.ReadRequest{
		Screen: session.ScreenWait{Shows: regexp.MustCompile(pattern)}, Tail: true, MaxBytes: 1, Timeout: lab.Patience,
	})
	now := s.Screen(t.Context(), 0)
	if c.Reason != session.ReasonMatched {
		t.Fatalf("the screen does not show %q (%s):\n%s", pattern, c.Reason, now.Text())
	}
	return now
}

// press presses keys one after the other.
func press(t *testing.T, s *session.Session, keys ...string) {
	t.Helper()
	for _, key := range keys {
		if _, err := s.Write(t.Context(), nil, session.WriteOptions{Key: key}); err != nil {
			t.Fatalf("key %s: %v", key, err)
		}
	}
}

// A person's way through a dialog and an editor, by the screen.
func TestProgramsOnTheScreen(t *testing.T) {
	for _, shell := range shells {
		t.Run(shell.name, func(t *testing.T) {
			s := shell.open(t)
			enter(t, s, `TERM=xterm-256color; stty rows 24 cols 80; dialog --menu choose 12 40 4 a one b two c three; echo; echo "status $?"`)
			shown(t, s, `three.*\|`)
			rest(t, s) // the row is there before the lower edge of the dialog
			first := s.Screen(t.Context(), 0)
			press(t, s, "arrow_down")
			c := s.Read(t.Context(), session.ReadRequest{Screen: session.ScreenWait{Stable: lab.Patience / 20}, Timeout: lab.Patience})
			if c.Reason != session.ReasonStable {
				t.Errorf("the wait for rest stopped with %s, want stable", c.Reason)
			}
			now := s.Screen(t.Context(), first.Version)
			if n := len(now.Changed); now.Full || n == 0 || n > 4 {
				t.Errorf("a key has changed the rows %v of a dialog (all: %v), want few", now.Changed, now.Full)
			}
			press(t, s, "enter")
			shown(t, s, `status 0`)

			file := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(file, []byte("first\nsecond\n"), 0o644); err != nil { //nolint:gosec // others read it
				t.Fatal(err)
			}
			enter(t, s, "vim -u NONE -n "+file)
			if shown(t, s, `^second$`); !s.Screen(t.Context(), 0).AltScreen {
				t.Error("vim has not the alternate screen")
			}
			enter(t, s, "\x1bGothird")
			res := s.Read(t.Context(), session.ReadRequest{Screen: session.ScreenWait{Cursor: session.ScreenPoint{Row: 4, Col: 1}}, Timeout: lab.Patience})
			if now := shown(t, s, `^third$`); res.Reason != session.ReasonMatched {
				t.Errorf("the cursor is at %+v (%s), want row 4, column 1:\n%s", now.Cursor, res.Reason, now.Text())
			}
			enter(t, s, "\x1b:q!")
			shown(t, s, `status 0`)
		})
	}
}

// A program that shows a secret shows it to no one.
func TestSecretInAProgram(t *testing.T) {
	const typed = "a-long-passphrase-of-several-words-1138"
	for _, shell := range shells {
		t.Run(shell.name, func(t *testing.T) {
			s := shell.open(t)
			enter(t, s, "TERM=xterm-256color; stty rows 24 cols 60; stty -echo; printf '%s' pass''phrase:")
			if err := s.Resize(t.Context(), 60, 24); err != nil {
				t.Fatal(err)
			}
			shown(t, s, "passphrase:")
			enter(t, s, "stty echo; vim -u NONE -n -c 'set titlestring=%{getline(1)} title'")
			shown(t, s, `^~$`)
			if _, err := s.Write(t.Context(), []byte("i"+strings.Repeat("x", 40)), session.WriteOptions{}); err != nil {
				t.Fatal(err)
			}
			shown(t, s, `x{40}`)
			secret(t, s, typed) // wraps at column 60
			enter(t, s, "end\x1b:set nu\r:redraw!")
			now := shown(t, s, `2 end`)
			if text := now.Text() + now.Title; strings.Contains(strings.ReplaceAll(text, "\n", ""), typed[:20]) || !strings.Contains(text, "****") {
				t.Errorf("the screen shows a secret:\n%s\ntitle %q", now.Text(), now.Title)
			}
			leaktest.Output(t, "screen", now.Text()+now.Title)
		})
	}
}
