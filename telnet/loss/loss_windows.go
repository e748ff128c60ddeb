package loss

import (
	"syscall"
	"time"
)

// tcpMaxRT is TCP_MAXRT of ws2ipdef.h, in seconds.
const tcpMaxRT = 5

// setUserTimeout limits how long sent data may be sent again.
func setUserTimeout(fd uintptr, limit time.Duration) {
	_ = syscall.SetsockoptInt(syscall.Handle(fd), syscall.IPPROTO_TCP, tcpMaxRT, int(limit.Seconds()))
}
