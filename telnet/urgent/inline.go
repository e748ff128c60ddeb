package urgent

import "net"

// Inline is Keep for a connection that exists already.
func Inline(conn *net.TCPConn) {
	if raw, err := conn.SyscallConn(); err == nil {
		_ = Keep("", "", raw) // without it an extra byte appears after an interrupt
	}
}
