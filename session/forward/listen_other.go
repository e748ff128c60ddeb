//go:build !unix

package forward

import (
	"errors"
	"net"
	"os"
)

// admits takes every client: the rights of the folder keep the others out.
func (place) admits(net.Conn) error { return nil }

// gone reports whether there is no socket: this system does not tell whether a process listens at one without a
// connection to it.
func gone(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, os.ErrNotExist)
}

// sweep does nothing, for the same reason.
func sweep(string) {}
