//go:build unix

package source

import (
	"os"
	"syscall"
)

// ownerOnly says that the permissions of a file tell who may read it.
const ownerOnly = true

// openRegular opens a file, and does not wait for the writer of a FIFO.
func openRegular(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}
