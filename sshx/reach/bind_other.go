//go:build !linux

package reach

import "syscall"

// bindTo returns nil: only Linux can bind to an interface, and the plan refuses
// BindInterface elsewhere.
func bindTo(string) func(network, address string, c syscall.RawConn) error { return nil }

const CanBindInterface = false
