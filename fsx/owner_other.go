//go:build !unix

package fsx

import (
	"io/fs"
	"os"
)

// nonblock is zero: this file system has no FIFOs.
const nonblock = 0

// busyProgram returns false: such an error does not exist on this system.
func busyProgram(error) bool { return false }

// keepOwner does nothing: files have no Unix owner here.
func keepOwner(*os.File, fs.FileInfo) error { return nil }

// ownedAlone returns true: files have no Unix owner here.
func ownedAlone(fs.FileInfo) bool { return true }
