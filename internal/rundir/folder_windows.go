package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// Dir returns this user's folder, in the profile's local data, which is the user's alone.
func Dir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "ptyctl"), nil
}

// Own makes the folder unless it is there. Who may use it is said by the folder above, from which it inherits.
func Own(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if info, err := os.Lstat(dir); err != nil {
		return err
	} else if !info.IsDir() {
		return fmt.Errorf("%s is no folder, and must be one: remove it, or name another", dir)
	}
	return nil
}

// Open opens a file of ours in a folder of ours, and makes it if need be.
func Open(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file; remove it", path)
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
}

// TryLock locks f for as long as it is open, or returns ErrHeld.
func TryLock(f *os.File) error {
	err := lockByte(f, windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrHeld
	}
	return err
}

// lock is tryLock that waits.
func lock(f *os.File) error { return lockByte(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// lockByte locks one byte far beyond the content: nobody else could read what is locked.
func lockByte(f *os.File, flags uint32) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
}
