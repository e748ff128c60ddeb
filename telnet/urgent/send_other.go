//go:build !unix && !windows

package urgent

import (
	"errors"
	"net"
	"syscall"
)

// Keep does nothing: these systems have no socket options in package syscall.
func Keep(string, string, syscall.RawConn) error { return nil }

// Send is not implemented on these systems.
func Send(*net.TCPConn, []byte) error { return errors.ErrUnsupported }
