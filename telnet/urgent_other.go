//go:build !unix && !windows

package telnet

import (
	"errors"
	"net"
	"syscall"
)

// keepUrgent does nothing: these systems have no socket options in package syscall.
func keepUrgent(string, string, syscall.RawConn) error { return nil }

// sendUrgent is not implemented on these systems.
func sendUrgent(*net.TCPConn, []byte) error { return errors.ErrUnsupported }
