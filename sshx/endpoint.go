package sshx

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"

	"ptyctl/term"
)

// An endpoint is a server to connect to, and the way there.
type endpoint struct {
	host string // name or address
	port int

	family        string // "tcp", "tcp4", "tcp6"
	bindAddress   string
	bindInterface string
	proxy         *url.URL // SOCKS5 or HTTP; nil for none
	attempts      int
	tcpKeep       bool
	addrs         []netip.Addr // the approved addresses of host; nil: looked up when dialed
	lookUpErr     error        // the error of that lookup
	proxyAddrs    []netip.Addr // the approved addresses of the proxy

	dial func(ctx context.Context, network, address string) (net.Conn, error) // nil: TCP
}

// The names of the steps of reaching a server, in order.
const (
	stepDNS = "dns"
	stepTCP = "tcp"
)

// A progress records the steps of reaching a server.
type progress interface {
	begin(step string)
	address(addr string) // the address at which the server was reached
}

// reach connects to the server, through its proxy if it has one.
func (h *endpoint) reach(ctx context.Context, l progress) (net.Conn, error) {
	if h.proxy != nil {
		return dialProxy(ctx, h, l)
	}
	return dialTCP(ctx, h, l)
}

// address returns host:port.
func (h *endpoint) address() string { return net.JoinHostPort(h.host, strconv.Itoa(h.port)) }

// dialed returns the name that this machine resolves to reach the server.
func (h *endpoint) dialed() string {
	if h.proxy != nil {
		return h.proxy.Hostname()
	}
	return h.host
}

// isAddress reports whether name is a numeric address.
func isAddress(name string) bool {
	_, err := netip.ParseAddr(name)
	return err == nil
}

// lookUp resolves the server, or its proxy. The dialing step reports an error.
func (h *endpoint) lookUp(ctx context.Context) {
	if h.proxy == nil {
		h.addrs, h.lookUpErr = resolve(ctx, h)
		return
	}
	h.proxyAddrs, h.lookUpErr = resolve(ctx, &endpoint{host: h.proxy.Hostname(), family: "tcp"})
}

// resolve returns the addresses of the server, limited to its address family.
func resolve(ctx context.Context, h *endpoint) ([]netip.Addr, error) {
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
