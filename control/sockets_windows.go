package control

import "io/fs"

// IsSocket reports whether a file can be a socket.
func IsSocket(e fs.DirEntry) bool { return e.Type().IsRegular() }

// foreign returns why the sockets in a folder are ignored; empty: they are not. A pipe's owner is checked when it is
// connected to.
func foreign(folder fs.FileInfo) string {
	if !folder.IsDir() {
		return "is not a folder"
	}
	return ""
}
