package reach

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"ptyctl/internal/exhausted"
	"ptyctl/term"
)

// dialTCP connects to the server. Like ssh(1) it tries every address in turn,
// ConnectionAttempts times.
func dialTCP(ctx context.Context, h *Endpoint, l Progress) (net.Conn, error) {
	l.Begin(StepDNS)
	addrs, err := h.Addrs, h.LookUpErr
	if addrs == nil && err == nil { // no policy has looked it up
		addrs, err = Resolve(ctx, h)
	}
	if err != nil {
		return nil, err
	}
	l.Begin(StepTCP)
	// ssh(1) leaves the parameters of TCPKeepAlive to the system as well.
	d := net.Dialer{KeepAlive: -1, Control: bindTo(h.BindInterface)}
	if h.TCPKeepAlive {
		d.KeepAlive = 0 // the system's default
	}
	if h.BindAddress != "" {
		ip, err := netip.ParseAddr(h.BindAddress)
		if err != nil {
			return nil, term.Errorf(
				term.InvalidArgument,
				"BindAddress %q is not a numeric address; give one of this machine's",
				h.BindAddress,
			)
		}
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(ip, 0))
	}
	dial := d.DialContext
	if h.Dial != nil {
		dial = h.Dial
	}
	for try := 1; ; try++ {
		for _, a := range addrs {
			var conn net.Conn
			if conn, err = dial(ctx, h.Family, netip.AddrPortFrom(a, uint16(h.Port)).String()); err == nil {
				l.Address(conn.RemoteAddr().String())
				return hold(ctx, conn)
			}
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
		}
		if try >= h.Attempts {
			return nil, refused(h, err)
		}
		select { // ssh(1) waits a second between attempts
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// refused is the error of a connection that was not made.
func refused(h *Endpoint, err error) error {
	what := fmt.Sprintf("cannot connect to %s", h.Address())
	if exhausted.Descriptors(err) {
		return exhausted.NoDescriptors(what, err)
	}
	e := &term.Error{
		Kind: term.ConnectFailed, Err: err, Msg: fmt.Sprintf("%s: %v", what, term.RootCause(err)),
		Advice: fmt.Sprintf("check that the host is up and that its server listens on port %d", h.Port),
	}
	if exhausted.Ports(err) {
		e.Advice = exhausted.PortAdvice
	}
	// Without a free port bind(2) fails with EADDRINUSE, and connect(2) with EADDRNOTAVAIL.
	call, _ := errors.AsType[*os.SyscallError](err)
	switch {
	case call == nil || call.Syscall != "bind" || h.BindAddress == "":
	case errors.Is(err, syscall.EADDRINUSE):
		e.Advice = exhausted.PortAdvice
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		e.Advice = "the fault is on this machine and not at the host: BindAddress " + h.BindAddress +
			" is no address that it may connect from; correct it in ssh_config, or leave it out"
	}
	return e
}
