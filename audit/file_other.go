//go:build !unix

package audit

import "os"

const (
	openFlags     = 0
	closeToRename = true
	hasModes      = false
)

// Without flock(2) processes must not share a file.
func lockFile(*os.File) error { return nil }

func lockShared(*os.File) error { return nil }

func unlockFile(*os.File) {}

func syncFolder(string) {}
