//go:build unix

package auth

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// exposed returns why a private key file must not be used, by the rule of ssh(1):
// it belongs to this user and others can read it. An empty result means that it
// may be used.
func exposed(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if ok && int(st.Uid) == os.Getuid() && info.Mode().Perm()&0o077 != 0 {
		return fmt.Sprintf("its mode %#o lets others read it; run chmod 600 on it", info.Mode().Perm())
	}
	return ""
}
