//go:build unix

package sshconfig

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkPermissions applies the rule of ssh(1), FILES: the file must belong to the user or to
// the superuser, and must not be writable by others.
func checkPermissions(path string, info fs.FileInfo) error {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && int(st.Uid) != os.Getuid() {
		return &PermissionError{
			File: path, Reason: fmt.Sprintf("it belongs to user id %d", st.Uid),
			Remedy: fmt.Sprintf("chown %d %s && chmod go-w %[2]s", os.Getuid(), path),
		}
	}
	if info.Mode().Perm()&0o022 != 0 {
		return &PermissionError{
			File: path, Reason: fmt.Sprintf("mode %04o lets others write it", info.Mode().Perm()),
			Remedy: "chmod go-w " + path,
		}
	}
	return nil
}
