//go:build unix

package rundir

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// TryLock locks f until it is closed. It returns ErrHeld if another open file has the
// lock.
func TryLock(f *os.File) error {
	err := flock(f, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrHeld
	}
	return err
}

// lock is TryLock that waits for the lock.
func lock(f *os.File) error { return flock(f, unix.LOCK_EX) }

// flock calls flock(2), again after an interruption.
func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
