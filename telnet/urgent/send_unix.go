//go:build unix

package urgent

import (
	"net"
	"syscall"
)

// Keep keeps urgent data in the stream (SO_OOBINLINE). BSD servers answer an interrupt
// with IAC DM and mark DM as urgent: without this option the kernel removes a byte, and the
// rest of the command becomes data.
func Keep(_, _ string, raw syscall.RawConn) error {
	var failed error
	err := raw.Control(func(fd uintptr) {
		failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_OOBINLINE, 1)
	})
	if err != nil {
		return err
	}
	return failed
}

// Send sends p with its last byte marked as urgent (RFC 854, "SYNCH").
func Send(conn *net.TCPConn, p []byte) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		_, failed = syscall.SendmsgN(int(fd), p, nil, nil, syscall.MSG_OOB)
		return failed != syscall.EAGAIN
	})
	if err != nil {
		return err
	}
	return failed
}
