//go:build unix

package record

import (
	"os"
	"syscall"
)

// openFlags: a link in the folder is never followed.
const openFlags = syscall.O_NOFOLLOW

// openAny opens a file to read, without waiting for a writer if it is a pipe.
func openAny(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}
