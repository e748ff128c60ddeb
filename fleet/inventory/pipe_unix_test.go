//go:build unix

package inventory

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestReadPipe checks that a pipe is refused; opening it would wait for a writer.
func TestReadPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hosts")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "plain file") {
		t.Errorf("Read of a pipe = %v, want a refusal", err)
	}
}
