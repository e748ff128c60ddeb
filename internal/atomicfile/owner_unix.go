//go:build unix

package atomicfile

import (
	"os"
	"syscall"
)

// keepOwner gives f the owner and the group of the file at path, if there is one.
func keepOwner(f *os.File, path string) error {
	was, err := os.Stat(path)
	if err != nil {
		return nil //nolint:nilerr // there is no old file, or the rename fails
	}
	is, err := f.Stat()
	if err != nil {
		return err
	}
	old, fresh := was.Sys().(*syscall.Stat_t), is.Sys().(*syscall.Stat_t)
	if old.Uid == fresh.Uid && old.Gid == fresh.Gid {
		return nil
	}
	return f.Chown(int(old.Uid), int(old.Gid))
}
