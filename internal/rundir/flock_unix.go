//go:build unix

package rundir

import (
	"errors"
	"os"
	"syscall"
)

// TryLock locks f until it is closed. It returns ErrHeld if another open file has the
// lock.
func TryLock(f *os.File) error {
	err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrHeld
	}
	return err
}

// lock is TryLock that waits for the lock.
func lock(f *os.File) error { return flock(f, syscall.LOCK_EX) }

// flock calls flock(2), again after an interruption.
func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
