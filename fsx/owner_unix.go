//go:build unix

package fsx

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// nonblock prevents an open from blocking on a FIFO or a device.
const nonblock = syscall.O_NONBLOCK

// busyProgram reports whether a file cannot be written because it is a running
// program; it can still be replaced.
func busyProgram(err error) bool { return errors.Is(err, syscall.ETXTBSY) }

// ownedAlone reports whether a file belongs to this account, and has no other name.
func ownedAlone(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid() && st.Nlink == 1
}

// keepOwner gives f the owner and the group of the file that it replaces.
func keepOwner(f *os.File, old fs.FileInfo) error {
	if old == nil {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	was, ok := old.Sys().(*syscall.Stat_t)
	is, ok2 := info.Sys().(*syscall.Stat_t)
	if !ok || !ok2 || was.Uid == is.Uid && was.Gid == is.Gid {
		return nil
	}
	// Only root may give files away; the caller then has to write over the old file.
	if err := f.Chown(int(was.Uid), int(was.Gid)); err != nil {
		return unkeepable(err)
	}
	return nil
}
