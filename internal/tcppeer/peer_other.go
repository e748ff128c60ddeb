//go:build !linux

package tcppeer

import "net/netip"

// PID returns 0: this system does not tell.
func PID(_, _ netip.AddrPort) int { return 0 }
