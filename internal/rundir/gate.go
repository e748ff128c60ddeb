package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// ErrHeld says that another open file has the lock.
var ErrHeld = errors.New("the file is locked")

// gateWait is how long the gate is waited for. It is held for a few system calls; only a process that was stopped right
// there, with SIGSTOP or in a debugger, keeps it longer.
const gateWait = 3 * time.Second

// Enter takes the gate of the folder, which one process has at a time: for a few system calls.
func Enter(dir string) (leave func(), err error) { return enterWithin(dir, gateWait) }

func enterWithin(dir string, limit time.Duration) (leave func(), err error) {
	leave, err = TryEnter(dir)
	if !errors.Is(err, ErrHeld) {
		return leave, err
	}
	f, err := Open(gatePath(dir))
	if err != nil {
		return nil, err
	}
	got := make(chan error, 1)
	go func() { got <- lock(f) }()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-got:
		return entered(f, err)
	case <-timer.C:
		// No call of the system takes the wait back, and the descriptor must not be another file's meanwhile.
		go func() {
			_ = errors.Join(<-got, f.Close()) // closing gives up the lock, if there is one
		}()
		return nil, fmt.Errorf(
			"%s was locked for %v: a process that uses it seems to be stopped; end or continue it (fuser or lsof names it)",
			f.Name(),
			limit,
		)
	}
}

// TryEnter takes the gate if that needs no wait; otherwise the error is ErrHeld.
func TryEnter(dir string) (leave func(), err error) {
	f, err := Open(gatePath(dir))
	if err != nil {
		return nil, err
	}
	return entered(f, TryLock(f))
}

// entered closes f unless it was locked.
func entered(f *os.File, err error) (leave func(), _ error) {
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return func() { _ = f.Close() }, nil
}

func gatePath(dir string) string { return filepath.Join(dir, "gate") }
