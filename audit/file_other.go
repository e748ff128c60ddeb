//go:build !unix

package audit

import "os"

const (
	openFlags     = 0
	closeToRename = true
	hasModes      = false
)

// There is no flock: each process needs a file of its own.
func lockFile(*os.File) error { return nil }

func lockShared(*os.File) error { return nil }

func unlockFile(*os.File) {}

func syncFolder(string) {}
