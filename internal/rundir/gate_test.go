package rundir

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Enter must not wait without end for a stopped process, and must succeed when the gate
// is released in time.
func TestGate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ptyctl")
	if err := Own(dir); err != nil {
		t.Fatal(err)
	}
	leave, err := Enter(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := enterWithin(dir, 10*time.Millisecond); err == nil ||
		!strings.Contains(err.Error(), "seems to be stopped") {
		t.Errorf("the gate: %v", err)
	}
	in := make(chan error, 1)
	go func() {
		leave, err := Enter(dir)
		if err == nil {
			leave()
		}
		in <- err
	}()
	leave()
	if err := <-in; err != nil {
		t.Error(err)
	}
}

// A wait for a lock ends with its context.
func TestLockCanceled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := TryPath(path)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error, 1)
	go func() {
		_, err := Lock(ctx, path, time.Hour)
		got <- err
	}()
	cancel()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Errorf("Lock after its context has ended = %v, want Canceled", err)
	}
}

// A lock file that its holder removes does not lock others out, and never admits two holders.
func TestLockOfRemovedFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows removes no file that is open")
	}
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := TryPath(path)
	if err != nil {
		t.Fatal(err)
	}
	stale, err := Open(path) // a process that has opened the file, and not yet locked it
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	unlock()
	if _, err := entered(stale, TryLock(stale)); !errors.Is(err, errReplaced) {
		t.Errorf("a lock of the removed file = %v, want errReplaced", err)
	}
	unlock, err = Lock(t.Context(), path, time.Hour)
	if err != nil {
		t.Fatalf("Lock after the file was removed = %v", err)
	}
	defer unlock()
	if _, err := TryPath(path); !errors.Is(err, ErrHeld) {
		t.Errorf("a second lock = %v, want ErrHeld", err)
	}
}
