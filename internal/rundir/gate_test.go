package rundir

import (
	"path/filepath"
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
