package loss

import (
	"syscall"
	"time"
)

// tcpRxtConnDropTime is TCP_RXT_CONNDROPTIME of netinet/tcp.h, in seconds.
const tcpRxtConnDropTime = 0x80

// setUserTimeout limits how long sent data may be sent again.
func setUserTimeout(fd uintptr, limit time.Duration) {
	_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpRxtConnDropTime, int(limit.Seconds()))
}
