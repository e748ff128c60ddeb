//go:build !unix

package fsx

import (
	"io/fs"
	"os"
)

// nonblock is nothing here: there are no FIFOs in the file system.
const nonblock = 0

func busyProgram(error) bool { return false }

func keepOwner(*os.File, fs.FileInfo) error { return nil }
