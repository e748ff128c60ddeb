//go:build unix

package audit

import (
	"errors"
	"os"
	"syscall"
)

// O_NONBLOCK keeps open from waiting if the path is not a file, for example a pipe.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

const (
	closeToRename = false // an open file can be renamed
	hasModes      = true  // the mode decides who may use a file
)

// lockFile waits for the exclusive lock. Another process holds it only while it writes a
// batch of lines.
func lockFile(f *os.File) error { return flock(f, syscall.LOCK_EX) }

// lockShared waits until no process is writing.
func lockShared(f *os.File) error { return flock(f, syscall.LOCK_SH) }

// flock calls flock(2) and repeats it after a signal.
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

// syncFolder makes a rename durable. It ignores errors, because some file systems cannot
// sync folders.
func syncFolder(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}
