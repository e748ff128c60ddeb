//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package hostkeys

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestPipe: opening a pipe without a writer would block without end.
func TestPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	v := verifier(t, 22, Options{Policy: AcceptNew, UserFiles: []string{name}})
	if err := verify(t, v, keys().ed); err != nil {
		t.Fatal(err)
	}
	if r := v.Result(); r.Entry != nil || len(r.Warnings) != 1 {
		t.Errorf("Result = %+v, want no entry and one warning", r)
	}
	if _, err := NewVerifier("server", 22, nil, Options{RevokedFiles: []string{name}}); err == nil {
		t.Error("a pipe was taken for an empty revocation list")
	}
}
