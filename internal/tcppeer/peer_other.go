//go:build !linux

package tcppeer

import "net/netip"

// PIDs returns none: this system does not tell.
func PIDs(_, _ netip.AddrPort) []int { return nil }
