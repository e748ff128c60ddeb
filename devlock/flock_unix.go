//go:build unix

package devlock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock locks f for as long as it is open, or returns errHeld.
func tryLock(f *os.File) error {
	err := flock(f, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errHeld
	}
	return err
}

// lock is tryLock that waits.
func lock(f *os.File) error { return flock(f, unix.LOCK_EX) }

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
