package soak

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
	"ptyctl/session"
	"ptyctl/sshx"
	"ptyctl/term"
)

// endedMemory is how many bytes of the heap an ended SSH session may take, besides its output: its connection with all
// its buffers took 32 KiB and more.
const endedMemory = 16 << 10

// TestEndedSessionsAreSmall opens and closes SSH sessions, each with a command beside the terminal, and counts
// the memory that they still hold. TestManyShortSessions is the same with the built program.
func TestEndedSessionsAreSmall(t *testing.T) {
	const sessions = 100
	s := lab.ServeSSH(t, sshserver.Config{NoAuth: true})
	home := t.TempDir()
	known, config := filepath.Join(home, "known_hosts"), filepath.Join(home, "config")
	for path, text := range map[string]string{known: s.KnownHostsLine() + "\n", config: ""} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := session.NewManager(session.Config{Dialers: map[string]term.Dialer{
		"ssh": sshx.Dialer(sshx.Options{KnownHostsPath: known, ConfigPath: config, HomeDir: home}),
	}})
	defer m.Close(t.Context())
	one := func() {
		t.Helper()
		r, err := m.Open(t.Context(), session.OpenRequest{
			Target: term.Target{Protocol: "ssh", Host: "127.0.0.1", Port: s.Port(), User: "alice"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Session.Exec(t.Context(), session.ExecRequest{Command: "true"}); err != nil {
			t.Fatal(err)
		}
		r.Session.Close(t.Context(), session.CloseOptions{})
	}
	heap := func() int64 {
		// The server is in this process too: a shell that outlives its connection holds the server's half of that.
		lab.Eventually(t, "the end of every connection and shell", func() bool {
			now := s.Stats()
			return now.Open == 0 && now.SessionsOpen == 0
		})
		for range 3 {
			runtime.GC()
		}
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		return int64(now.HeapAlloc) //nolint:gosec // it is no great number
	}
	for range 10 { // the permanent parts
		one()
	}
	before, held := heap(), m.Buffered()
	for range sessions {
		one()
	}
	each := (heap() - before - (m.Buffered() - held)) / sessions
	t.Logf("an ended session takes %d bytes", each)
	if each > endedMemory {
		t.Errorf("an ended session takes %d bytes, want at most %d", each, endedMemory)
	}
	if n := m.Ended(); n != sessions+10 {
		t.Errorf("%d ended sessions are kept, want %d", n, sessions+10)
	}
}
