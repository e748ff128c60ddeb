// Package loss makes TCP notice a dead network, for protocols that have no keep-alive of their own.
//
//	loss.Notice(conn, 0)
package loss

import (
	"net"
	"syscall"
	"time"
)

// Limit is how long sent data may wait for its acknowledgement before the connection counts as
// lost: Telnet has no keep-alive that all servers accept, so TCP must notice a dead network. The
// system's own limit for unacknowledged data is about 15 minutes. A device that takes no more input
// for so long counts as lost, too (tcp(7), TCP_USER_TIMEOUT).
const Limit = 100 * time.Second

// keepAlive lets an idle connection to a dead network end after 105 seconds. With the defaults of
// package net it would be 150.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 15 * time.Second, Count: 6}

// Notice makes TCP end nc, with data unacknowledged for limit (0: Limit), when the network or the far side is dead. It
// does nothing for a connection that is not over TCP directly, for example through an SSH bastion, which has
// keep-alives of its own. It omits the options that a system lacks.
func Notice(nc net.Conn, limit time.Duration) {
	for {
		inner, ok := nc.(interface{ NetConn() net.Conn }) // TLS, or a connection through a proxy
		if !ok {
			break
		}
		nc = inner.NetConn()
	}
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return
	}
	_ = tcp.SetKeepAliveConfig(keepAlive)
	if limit == 0 {
		limit = Limit
	}
	if raw, err := syscall.Conn(tcp).SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { setUserTimeout(fd, limit) })
	}
}
