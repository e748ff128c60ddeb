//go:build unix

package ptypair

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// Each system has its own error for the terminal that is one too many.
func TestExhausted(t *testing.T) {
	for _, tt := range []struct {
		system string
		errno  syscall.Errno
		want   bool
	}{
		{"linux", syscall.ENOSPC, true},
		{"linux", syscall.EAGAIN, false},
		{"linux", syscall.EMFILE, false},
		{"freebsd", syscall.EAGAIN, true},
		{"freebsd", syscall.EMFILE, false},
	} {
		err := &os.PathError{Op: "open", Path: "/dev/ptmx", Err: tt.errno}
		if got := exhausted(tt.system, err); got != tt.want {
			t.Errorf("on %s, %v: %t, want %t", tt.system, tt.errno, got, tt.want)
		}
	}
	if text := settingOf("freebsd"); strings.Contains(text, "kernel.pty.max") {
		t.Errorf("FreeBSD is advised to raise %s, which it does not have", text)
	}
}
