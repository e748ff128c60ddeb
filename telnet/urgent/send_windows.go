package urgent

import (
	"errors"
	"net"
	"syscall"
)

// soOOBInline is SO_OOBINLINE of winsock2.h, which package syscall lacks.
const soOOBInline = 0x0100

// Keep keeps urgent data in the stream, as on other systems.
func Keep(_, _ string, raw syscall.RawConn) error {
	var failed error
	err := raw.Control(func(fd uintptr) {
		failed = syscall.SetsockoptInt(syscall.Handle(fd), syscall.SOL_SOCKET, soOOBInline, 1)
	})
	if err != nil {
		return err
	}
	return failed
}

// Send is not implemented: package syscall has no send with flags on Windows.
func Send(*net.TCPConn, []byte) error { return errors.ErrUnsupported }
