//go:build !unix && !windows

package telnet

import (
	"errors"
	"net"
	"syscall"
)

func keepUrgent(string, string, syscall.RawConn) error { return nil }

func sendUrgent(*net.TCPConn, []byte) error { return errors.ErrUnsupported }
