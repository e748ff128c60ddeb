//go:build unix

package control

import (
	"io/fs"

	"ptyctl/internal/rundir"
)

// IsSocket reports whether a file can be a socket.
func IsSocket(e fs.DirEntry) bool { return e.Type()&fs.ModeSocket != 0 }

// foreign returns why the sockets in a folder may be another user's; empty: they are not.
func foreign(folder fs.FileInfo) string { return rundir.Foreign(folder) }
