package sshx

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"ptyctl/term"
)

// dialTCP connects to the server. Like ssh(1) it tries every address in turn,
// ConnectionAttempts times.
func dialTCP(ctx context.Context, h *endpoint, l progress) (net.Conn, error) {
	l.begin(stepDNS)
	addrs, err := h.addrs, h.lookUpErr
	if addrs == nil && err == nil { // no policy has looked it up
		addrs, err = resolve(ctx, h)
	}
	if err != nil {
		return nil, err
	}
	l.begin(stepTCP)
	// ssh(1) leaves the parameters of TCPKeepAlive to the system as well.
	d := net.Dialer{KeepAlive: -1, Control: bindTo(h.bindInterface)}
	if h.tcpKeep {
		d.KeepAlive = 0 // the system's default
	}
	if h.bindAddress != "" {
		ip, err := netip.ParseAddr(h.bindAddress)
		if err != nil {
			return nil, term.Errorf(
				term.InvalidArgument,
				"BindAddress %q is not a numeric address; give one of this machine's",
				h.bindAddress,
			)
		}
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(ip, 0))
	}
	dial := d.DialContext
	if h.dial != nil {
		dial = h.dial
	}
	for try := 1; ; try++ {
		for _, a := range addrs {
			var conn net.Conn
			if conn, err = dial(ctx, h.family, netip.AddrPortFrom(a, uint16(h.port)).String()); err == nil {
				l.address(conn.RemoteAddr().String())
				return conn, nil
			}
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
		}
		if try >= h.attempts {
			return nil, &term.Error{
				Kind: term.ConnectFailed,
				Err:  err,
				Msg: fmt.Sprintf(
					"cannot connect to %s: %v; check that the host is up and that its server listens on port %d",
					h.address(),
					term.RootCause(err),
					h.port,
				),
			}
		}
		select { // ssh(1) waits a second between attempts
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
