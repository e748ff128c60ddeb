//go:build unix

package saved

import (
	"path/filepath"
	"syscall"
	"testing"
)

// Reading a FIFO without a writer fails at once instead of waiting.
func TestFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if a, err := Read(path); err == nil {
		t.Errorf("Read(%s) = %+v, want an error", path, a)
	}
}
