//go:build unix

package audit

import (
	"errors"
	"os"
	"syscall"
)

// O_NONBLOCK keeps the opening of what is no file, such as a pipe, from waiting.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

const (
	closeToRename = false // an open file cannot be renamed
	hasModes      = true  // a file's mode says who may use it
)

// lockFile waits for the lock. Whoever has it is writing a few lines.
func lockFile(f *os.File) error { return flock(f, syscall.LOCK_EX) }

// lockShared waits until nobody is writing.
func lockShared(f *os.File) error { return flock(f, syscall.LOCK_SH) }

func flock(f *os.File, how int) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var locked error
	err = conn.Control(func(fd uintptr) {
		for {
			if locked = syscall.Flock(int(fd), how); !errors.Is(locked, syscall.EINTR) {
				return
			}
		}
	})
	return errors.Join(err, locked)
}

func unlockFile(f *os.File) {
	if conn, err := f.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { _ = syscall.Flock(int(fd), syscall.LOCK_UN) })
	}
}

// syncFolder makes a rename last. Where folders cannot be synced there is nothing more to do.
func syncFolder(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}
