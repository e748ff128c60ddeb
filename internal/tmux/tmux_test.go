//go:build unix

package tmux

import (
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// fake returns a server that runs a shell script as its tmux.
func fake(t *testing.T, script string) *Server {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "tmux")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return &Server{program: program, socket: filepath.Join(dir, "tmux.sock")}
}

func TestRecent(t *testing.T) {
	for version, ok := range map[string]bool{
		"tmux 3.3a": true, "tmux 3.3": true, "tmux 4.0": true, "tmux next-3.6": true, "tmux master": true,
		"tmux 3.2": false, "tmux 2.9a": false, "tmux 1.10": false,
	} {
		err := fake(t, "echo '"+version+"'").recent(t.Context())
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), version) {
			t.Errorf("recent with %q = %v, want accepted: %v", version, err, ok)
		}
	}
}

// A word that ends in a semicolon would end the command of tmux.
func TestRunQuotes(t *testing.T) {
	s := fake(t, `shift 4; for w; do echo "[$w]"; done`)
	got, err := s.run(t.Context(), []string{"new-session", "--", "echo", "a;", ";", "b;c"}, []string{"bind-key"})
	want := "[new-session]\n[--]\n[echo]\n[a\\;]\n[\\;]\n[b;c]\n[;]\n[bind-key]\n"
	if got != want || err != nil {
		t.Errorf("run = %q, %v; want %q", got, err, want)
	}
	_, err = fake(t, `printf 'no \033[2J such\n' >&2; exit 1`).run(t.Context(), []string{"x"})
	if err == nil || !strings.HasPrefix(err.Error(), "tmux: no ") || strings.ContainsAny(err.Error(), "\x1b\n") {
		t.Errorf("a failure of tmux = %q, want its words without control characters", err)
	}
}

func listen(t *testing.T, s *Server) {
	t.Helper()
	ln, err := net.Listen("unix", s.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
}

func TestWindows(t *testing.T) {
	s := fake(t, `printf 'take-sh-1 sh.1 take shown 2 100 30\nsh-2 sh-2 watch ended 0 80 24\n0 bash\n'`)
	if all, err := s.Windows(t.Context()); len(all) != 0 || err != nil {
		t.Errorf("Windows without a socket = %+v, %v; want none", all, err)
	}
	listen(t, s)
	all, err := s.Windows(t.Context())
	line := "tmux -S " + s.socket + " attach -t "
	want := []Window{
		{SessionID: "sh-2", Mode: Watch, Cols: 80, Rows: 24, Socket: s.socket, Attach: line + "sh-2 -r", name: "sh-2"},
		{
			SessionID: "sh.1", Mode: Take, Alive: true, Cols: 100, Rows: 30, Viewers: 2, Socket: s.socket,
			Attach: line + "take-sh-1", name: "take-sh-1",
		},
	}
	if err != nil || !reflect.DeepEqual(all, want) {
		t.Errorf("Windows = %+v, %v; want %+v", all, err, want)
	}
}

// A server that has just closed its last window answers once more, with an error, and then is gone.
func TestWindowsOfADyingServer(t *testing.T) {
	s := fake(t, `rm -f "$4"; echo 'no current target' >&2; exit 1`)
	listen(t, s)
	if all, err := s.Windows(t.Context()); len(all) != 0 || err != nil {
		t.Errorf("Windows = %+v, %v; want none", all, err)
	}
	s = fake(t, `if [ -e "$4.asked" ]; then echo 'a a watch shown 0 80 24'; else touch "$4.asked"; exit 1; fi`)
	listen(t, s)
	if all, err := s.Windows(t.Context()); len(all) != 1 || err != nil {
		t.Errorf("Windows at the second attempt = %+v, %v; want one", all, err)
	}
	s = fake(t, `echo 'out of memory' >&2; exit 1`)
	listen(t, s)
	if _, err := s.Windows(t.Context()); err == nil || !strings.Contains(err.Error(), "out of memory") {
		t.Errorf("Windows of a server that always fails = %v, want its reason", err)
	}
}

// Show makes a window once, with the hardening before it, and takes the one that is alive.
func TestShow(t *testing.T) {
	s := fake(t, `case "$*" in
*list-panes*) [ -e "$4.made" ] && echo 'take-a_b a.b take shown 0 80 24';;
*new-session*) touch "$4.made"; echo "$*" >> "$4.log";;
esac
exit 0`)
	listen(t, s)
	for range 2 {
		w, err := s.Show(t.Context(), "a.b", Take, 0, 0, []string{"ptyctl", "attach", "a.b"})
		if err != nil || !w.Alive || w.SessionID != "a.b" || w.Mode != Take || w.name != "take-a_b" {
			t.Errorf("Show = %+v, %v; want the window take-a_b", w, err)
		}
	}
	log, err := os.ReadFile(s.socket + ".log")
	if err != nil || strings.Count(string(log), "\n") != 1 {
		t.Fatalf("the windows that were made: %q, %v; want one", log, err)
	}
	for _, part := range []string{
		"set-option -g prefix None", "unbind-key -a -T root", "new-session -d -s take-a_b -x 80 -y 24 -- ptyctl attach a.b",
		"set-option @session a.b", "set-option key-table take",
	} {
		if !strings.Contains(string(log), part) {
			t.Errorf("the commands are %q, want %q in them", log, part)
		}
	}
	dies := fake(t, `exit 0`) // the window is gone at once
	listen(t, dies)
	if _, err := dies.Show(t.Context(), "a", Watch, 80, 24, nil); err == nil ||
		!strings.Contains(err.Error(), "attach a") {
		t.Errorf("Show of a window that ends at once = %v, want advice", err)
	}
}

// The socket is this user's alone, whatever the umask was.
func TestGuard(t *testing.T) {
	s := fake(t, "exit 0")
	if err := s.guard(); err != nil {
		t.Errorf("guard without a socket = %v, want nil", err)
	}
	listen(t, s)
	if err := os.Chmod(s.socket, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := s.guard(); err != nil {
		t.Errorf("guard = %v, want nil", err)
	}
	if info, err := os.Lstat(s.socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket has mode %v (%v), want 0600", info.Mode(), err)
	}
	s = fake(t, "exit 0")
	if err := os.WriteFile(s.socket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.guard(); err == nil || !strings.Contains(err.Error(), "is no socket") {
		t.Errorf("guard of a file = %v, want a refusal", err)
	}
}

func TestHere(t *testing.T) {
	t.Setenv("TMUX", "")
	if p := Here(); p != nil {
		t.Errorf("Here outside of tmux = %+v, want nil", p)
	}
	t.Setenv("TMUX", "/run/tmux.sock,17,0")
	t.Setenv("TMUX_PANE", "%3")
	if p := Here(); p == nil || p.server.socket != "/run/tmux.sock" || p.id != "%3" {
		t.Errorf("Here = %+v, want pane %%3 at /run/tmux.sock", p)
	}
}
