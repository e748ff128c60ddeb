package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// Dir returns this user's folder, in the profile's local data, which other users cannot
// access. The system is asked for it, because the environment may name a relative path, or none.
func Dir() (string, error) {
	dir, err := windows.KnownFolderPath(windows.FOLDERID_LocalAppData, windows.KF_FLAG_DEFAULT)
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("the folder of local data %q is not an absolute path", dir)
	}
	return filepath.Join(dir, "ptyctl"), nil
}

// Own creates the folder unless it exists. It inherits the rights of the folder above.
func Own(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if info, err := os.Lstat(dir); err != nil {
		return err
	} else if !info.IsDir() {
		return fmt.Errorf("%s is not a folder: remove it, or name another", dir)
	}
	return nil
}

// Open opens a file of this user in such a folder, and creates it if needed.
func Open(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file; remove it", path)
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
}

// TryLock locks f until it is closed. It returns ErrHeld if another open file has the
// lock.
func TryLock(f *os.File) error {
	err := lockByte(f, windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrHeld
	}
	return err
}

// lock is TryLock that waits for the lock.
func lock(f *os.File) error { return lockByte(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// lockByte locks one byte far beyond the content, because other processes cannot read
// locked bytes.
func lockByte(f *os.File, flags uint32) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
}
