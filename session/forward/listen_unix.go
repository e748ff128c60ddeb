//go:build unix

package forward

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"ptyctl/internal/peer"
)

// admits refuses a client that belongs to another user. The folder of the socket keeps all of them out but root.
func (p place) admits(c net.Conn) error {
	if u, ok := c.(*net.UnixConn); ok {
		return peer.BelongsTo(u, os.Getuid())
	}
	return nil
}

// gone reports whether no process listens at a socket. It asks with a socket of another type, which is never connected: a
// process that listens does not learn of it.
func gone(path string) bool {
	c, err := net.Dial("unixgram", path)
	if err == nil {
		_ = c.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, os.ErrNotExist)
}

// sweep removes the sockets of killed processes.
func sweep(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		folder := filepath.Join(dir, e.Name())
		path := filepath.Join(folder, socketName)
		if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSocket == 0 {
			continue // another process is about to make it, or it is no folder of ours
		}
		if !gone(path) {
			continue
		}
		_ = os.Remove(path)
		links, _ := filepath.Glob(filepath.Join(folder, ".s.PGSQL.*"))
		for _, l := range links {
			_ = os.Remove(l)
		}
		_ = os.Remove(folder)
	}
}
