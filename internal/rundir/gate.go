package rundir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	return Lock(context.Background(), gatePath(dir), limit)
}

// Lock locks a file in such a folder, and creates it if needed. It waits for the lock, at most for limit, or until ctx
// ends.
func Lock(ctx context.Context, path string, limit time.Duration) (unlock func(), err error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		unlock, err = TryPath(path)
		if !errors.Is(err, ErrHeld) {
			return unlock, err
		}
		f, err := Open(path)
		if err != nil {
			return nil, err
		}
		if unlock, err := await(ctx, f, timer.C, limit); !errors.Is(err, errReplaced) {
			return unlock, err
		}
	}
}

// await waits for the lock of f.
func await(ctx context.Context, f *os.File, late <-chan time.Time, limit time.Duration) (unlock func(), err error) {
	got := make(chan error, 1)
	go func() { got <- lock(f) }()
	select {
	case err := <-got:
		return entered(f, err)
	case <-ctx.Done():
		abandon(f, got)
		return nil, context.Cause(ctx)
	case <-late:
		abandon(f, got)
		return nil, fmt.Errorf(
			"%s was locked for %v: a process that uses it seems to be stopped; "+
				"end or continue it (fuser or lsof names it)",
			f.Name(),
			limit,
		)
	}
}

// abandon gives up a wait for the lock of f. The wait cannot be canceled, and the descriptor must not be reused during
// it.
func abandon(f *os.File, got <-chan error) {
	go func() {
		_ = errors.Join(<-got, f.Close()) // closing releases the lock, if any
	}()
}

// TryEnter is Enter without a wait; it returns ErrHeld if another process has the gate.
func TryEnter(dir string) (leave func(), err error) { return TryPath(gatePath(dir)) }

// TryPath is Lock without a wait; it returns ErrHeld if another process has the lock.
func TryPath(path string) (unlock func(), err error) {
	for {
		f, err := Open(path)
		if err != nil {
			return nil, err
		}
		if unlock, err := entered(f, TryLock(f)); !errors.Is(err, errReplaced) {
			return unlock, err
		}
	}
}

// errReplaced means that the locked file is no longer the one at its path: the process that has locked it may have
// removed it.
var errReplaced = errors.New("the file was replaced")

// entered returns the function that releases the lock, or closes f after an error.
func entered(f *os.File, err error) (leave func(), _ error) {
	if err == nil && replaced(f) {
		err = errReplaced
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return func() { _ = f.Close() }, nil
}

// replaced reports whether f is not the file at its path.
func replaced(f *os.File) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(f.Name())
	return errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(mine, now)
}

func gatePath(dir string) string { return filepath.Join(dir, "gate") }
