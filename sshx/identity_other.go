//go:build !unix

package sshx

import "io/fs"

// exposed accepts every file: its permissions are not those of Unix.
func exposed(fs.FileInfo) string { return "" }
