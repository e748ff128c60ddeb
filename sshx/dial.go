package sshx

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/term"
)

// dialTCP connects to the first hop: every address in turn, as ssh(1) does.
func dialTCP(w *watchdog, h *hop, l *ladder) (net.Conn, error) {
	l.begin(stepDNS)
	addrs, err := resolve(w.ctx, h)
	if err != nil {
		return nil, err
	}
	l.begin(stepTCP)
	d := net.Dialer{KeepAlive: -1, Control: bindTo(h.bindInterface)}
	if h.tcpKeep {
		d.KeepAlive = 0 // the system's default
	}
	if h.bindAddress != "" {
		ip, err := netip.ParseAddr(h.bindAddress)
		if err != nil {
			return nil, term.Errorf(term.InvalidArgument, "BindAddress %q is not a numeric address; give one of this machine's", h.bindAddress)
		}
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(ip, 0))
	}
	for try := 1; ; try++ {
		for _, a := range addrs {
			var conn net.Conn
			if conn, err = d.DialContext(w.ctx, h.family, netip.AddrPortFrom(a, uint16(h.port)).String()); err == nil {
				l.address(conn.RemoteAddr().String())
				return conn, nil
			}
			if w.ctx.Err() != nil {
				return nil, context.Cause(w.ctx)
			}
		}
		if try >= h.attempts {
			return nil, &term.Error{Kind: term.ConnectFailed, Err: err, Msg: fmt.Sprintf("cannot connect to %s: %v; check that the host is up and that port %d is the one its SSH server listens on", h.address(), rootCause(err), h.port)}
		}
		select { // ssh(1) waits a second between attempts
		case <-time.After(time.Second):
		case <-w.ctx.Done():
			return nil, context.Cause(w.ctx)
		}
	}
}

// resolve returns the addresses of the hop, of the family asked for.
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
		return nil, &term.Error{Kind: term.ConnectFailed, Err: err, Msg: fmt.Sprintf("cannot resolve host name %q: %v; check the name, or add a HostName for it to ssh_config", h.host, rootCause(err))}
	}
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	return addrs, nil
}

// rootCause strips the operation and address that net puts around an error: the message names them itself.
func rootCause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return errors.New(dns.Err)
	}
	return err
}

// dialThrough opens a channel to the next hop on the link before it (RFC 4254 section 7.2).
func dialThrough(w *watchdog, via *link, h *hop, l *ladder) (net.Conn, error) {
	l.begin(stepTCP)
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result, 1)
	via.wg.Go(func() { // ends with the channel's answer, or with the link
		c, err := forward(via, h.host, h.port)
		if err == nil && w.ctx.Err() != nil {
			_ = c.Close()
		}
		done <- result{c, err}
	})
	select {
	case r := <-done:
		if r.err == nil {
			l.address("via " + via.hop.String())
			return r.conn, nil
		}
		var refused *ssh.OpenChannelError
		if errors.As(r.err, &refused) {
			return nil, &term.Error{Kind: term.ConnectFailed, Err: r.err, Msg: fmt.Sprintf("the jump host %s did not connect to %s: %s (%s); check that it may forward there", via.hop, h.address(), refused.Message, refused.Reason)}
		}
		return nil, &term.Error{Kind: term.ConnectFailed, Err: r.err, Msg: fmt.Sprintf("the connection to the jump host %s broke: %v", via.hop, r.err)}
	case <-w.ctx.Done():
		return nil, context.Cause(w.ctx)
	}
}

// A forwardConn is a direct-tcpip channel as a net.Conn. It has no deadlines: whoever waits on it too long
// closes it.
type forwardConn struct {
	ssh.Channel
	remote net.Addr
}

// forward opens a direct-tcpip channel.
func forward(via *link, host string, port int) (net.Conn, error) {
	payload := ssh.Marshal(struct {
		Host       string
		Port       uint32
		OriginHost string
		OriginPort uint32
	}{host, uint32(port), "127.0.0.1", 0})
	ch, reqs, err := via.conn.OpenChannel("direct-tcpip", payload)
	if err != nil {
		return nil, err
	}
	via.wg.Go(func() { ssh.DiscardRequests(reqs) })
	return &forwardConn{Channel: ch, remote: forwardAddr(net.JoinHostPort(host, strconv.Itoa(port)))}, nil
}

type forwardAddr string

func (forwardAddr) Network() string  { return "direct-tcpip" }
func (a forwardAddr) String() string { return string(a) }

func (c *forwardConn) LocalAddr() net.Addr  { return forwardAddr("ptyctl") }
func (c *forwardConn) RemoteAddr() net.Addr { return c.remote }

var errNoDeadline = errors.New("a forwarded connection has no deadlines")

func (c *forwardConn) SetDeadline(time.Time) error      { return errNoDeadline }
func (c *forwardConn) SetReadDeadline(time.Time) error  { return errNoDeadline }
func (c *forwardConn) SetWriteDeadline(time.Time) error { return errNoDeadline }
