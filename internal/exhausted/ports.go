package exhausted

import (
	"errors"
	"syscall"
)

// Ports reports whether err says that this machine has no local port left for a connection to
// that address, or no address of its own to connect from.
func Ports(err error) bool { return errors.Is(err, syscall.EADDRNOTAVAIL) }

// PortAdvice is the advice for that case: the far side is not the cause.
const PortAdvice = "the fault is on this machine and not at the host: all its local ports for that host and port " +
	"are in use (net.ipv4.ip_local_port_range), or it has no such address family; close connections that are not needed, " +
	"wait a minute, and try again"
