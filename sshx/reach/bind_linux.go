package reach

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// bindTo returns a net.Dialer.Control that binds sockets to an interface
// (ssh_config(5) BindInterface), or nil for an empty name.
func bindTo(name string) func(network, address string, c syscall.RawConn) error {
	if name == "" {
		return nil
	}
	return func(_, _ string, c syscall.RawConn) error {
		var err error
		if cerr := c.Control(func(fd uintptr) { err = unix.BindToDevice(int(fd), name) }); cerr != nil {
			return cerr
		}
		return err
	}
}

// CanBindInterface says whether this system can bind a connection to a network interface.
const CanBindInterface = true
