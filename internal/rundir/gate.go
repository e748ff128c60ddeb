package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// ErrHeld means that another open file has the lock.
var ErrHeld = errors.New("the file is locked")

// gateWait is how long Enter waits. The gate is held for a few system calls only; a
// process that keeps it longer was stopped there, for example by SIGSTOP or in a
// debugger.
const gateWait = 3 * time.Second

// Enter takes the gate of the folder, which only one process can have. It should be held
// for a few system calls only; leave releases it.
func Enter(dir string) (leave func(), err error) { return enterWithin(dir, gateWait) }

// enterWithin is Enter with a limit on the wait.
func enterWithin(dir string, limit time.Duration) (leave func(), err error) {
	return Lock(gatePath(dir), limit)
}

// Lock locks a file in such a folder, and creates it if needed. It waits for the lock, at most for limit.
func Lock(path string, limit time.Duration) (unlock func(), err error) {
	unlock, err = tryPath(path)
	if !errors.Is(err, ErrHeld) {
		return unlock, err
	}
	f, err := Open(path)
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
		// The wait cannot be canceled, and the descriptor must not be reused during it.
		go func() {
			_ = errors.Join(<-got, f.Close()) // closing releases the lock, if any
		}()
		return nil, fmt.Errorf(
			"%s was locked for %v: a process that uses it seems to be stopped; "+
				"end or continue it (fuser or lsof names it)",
			f.Name(),
			limit,
		)
	}
}

// TryEnter is Enter without a wait; it returns ErrHeld if another process has the gate.
func TryEnter(dir string) (leave func(), err error) { return tryPath(gatePath(dir)) }

// tryPath locks a file without a wait.
func tryPath(path string) (unlock func(), err error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	return entered(f, TryLock(f))
}

// entered returns the function that releases the lock, or closes f after an error.
func entered(f *os.File, err error) (leave func(), _ error) {
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return func() { _ = f.Close() }, nil
}

func gatePath(dir string) string { return filepath.Join(dir, "gate") }
