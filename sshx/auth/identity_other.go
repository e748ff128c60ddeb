//go:build !unix

package auth

import "io/fs"

// exposed accepts every file, because permissions here are not those of Unix.
func exposed(fs.FileInfo) string { return "" }
