//go:build unix

package saved

import (
	"path/filepath"
	"syscall"
	"testing"
)

// A named pipe would be waited for.
func TestPipe(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if a, err := Read(fifo); err == nil {
		t.Errorf("Read(%s) = %+v, want an error", fifo, a)
	}
}
