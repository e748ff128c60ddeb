//go:build unix

package sshx

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// exposed says why a private key file must not be used, as ssh(1) does: it belongs to us, and others can read
// it. Empty: it may be used.
func exposed(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if ok && int(st.Uid) == os.Getuid() && info.Mode().Perm()&0o077 != 0 {
		return fmt.Sprintf("its mode %#o lets others read it; run chmod 600 on it", info.Mode().Perm())
	}
	return ""
}
