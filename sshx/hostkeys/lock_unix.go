//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package hostkeys

import (
	"errors"
	"os"
	"syscall"
)

// flock waits for the exclusive lock of the file (flock(2)). Closing the file releases it.
func flock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
