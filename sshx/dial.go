package sshx

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"ptyctl/term"
)

// dialTCP connects to the first hop. Like ssh(1) it tries every address in turn,
// ConnectionAttempts times.
func dialTCP(w *watchdog, h *hop, l *steps) (net.Conn, error) {
	l.begin(stepDNS)
	addrs, err := h.addrs, h.lookUpErr
	if addrs == nil && err == nil { // no policy has looked it up
		addrs, err = resolve(w.ctx, h)
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
			if conn, err = dial(w.ctx, h.family, netip.AddrPortFrom(a, uint16(h.port)).String()); err == nil {
				l.address(conn.RemoteAddr().String())
				return conn, nil
			}
			if w.ctx.Err() != nil {
				return nil, context.Cause(w.ctx)
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
		case <-w.ctx.Done():
			return nil, context.Cause(w.ctx)
		}
	}
}

// resolve returns the addresses of the hop, limited to its address family.
func resolve(ctx context.Context, h *hop) ([]netip.Addr, error) {
	network := "ip" + h.family[len("tcp"):]
	if a, err := netip.ParseAddr(h.host); err == nil {
		return []netip.Addr{a}, nil
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, network, h.host)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil || len(addrs) == 0 {
		return nil, &term.Error{
			Kind: term.ConnectFailed,
			Err:  err,
			Msg: fmt.Sprintf(
				"cannot resolve host name %q: %v; check the name, or add a HostName for it to ssh_config",
				h.host,
				term.RootCause(err),
			),
		}
	}
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	return addrs, nil
}

// stepDetail returns the detail of a failed step. An error with a message of its
// own needs none.
func stepDetail(err error) string {
	if errors.As(err, new(*term.Error)) {
		return ""
	}
	return term.RootCause(err).Error()
}
