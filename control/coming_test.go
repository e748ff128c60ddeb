package control

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A Coming reports a socket that comes and one that goes, in the folder of all and at a path of the operator's. It
// ignores other files.
func TestComing(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	own := filepath.Join(t.TempDir(), "own") // the folder of a test is open to others
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(own, "own.sock")
	c, err := NewComing(elsewhere, "")
	if err != nil {
		t.Fatalf("NewComing: %v", err)
	}
	defer c.Close()
	path, err := Path(4711)
	if err != nil {
		t.Fatal(err)
	}
	told := func(within time.Duration) bool {
		select {
		case <-c.C:
			return true
		case <-time.After(within):
			return false
		}
	}
	quiet := func() {
		for told(2 * settle) {
		}
	}
	for _, at := range []string{path, elsewhere} {
		l, err := Listen(at, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !told(10 * time.Second) {
			t.Errorf("a socket at %s that comes is not told", at)
		}
		quiet()
		_ = l.Close()
		if !told(10 * time.Second) {
			t.Errorf("a socket at %s that goes is not told", at)
		}
		quiet()
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "other"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if told(2 * settle) {
		t.Error("a file that is no socket is told")
	}
}
