package reach

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"ptyctl/term"
)

// An Endpoint is a server to connect to, and the way there.
type Endpoint struct {
	Name   string // in the call or the list of jumps, which ssh_config turns into Host; empty: Host
	Host   string // name or address
	Port   int
	Config string // the ssh_config that may give Name an address, for advice; empty: none

	Family        string // "tcp", "tcp4", "tcp6"
	BindAddress   string
	BindInterface string
	Proxy         *url.URL // SOCKS5 or HTTP; nil for none
	Command       Command  // carries the connection, in place of TCP
	Attempts      int
	TCPKeepAlive  bool
	Addrs         []netip.Addr // the approved addresses of host; nil: looked up when dialed
	LookUpErr     error        // the error of that lookup
	ProxyAddrs    []netip.Addr // the approved addresses of the proxy

	Dial func(ctx context.Context, network, address string) (net.Conn, error) // nil: TCP
}

// The names of the steps of reaching a server, in order.
const (
	StepDNS   = "dns"
	StepTCP   = "tcp"
	StepProxy = "proxy" // in place of both: a ProxyCommand, which must start, and not end by itself
)

// A Progress records the steps of reaching a server.
type Progress interface {
	Begin(step string)
	Address(addr string) // the address at which the server was reached
}

// Reach connects to the server, through its program or its proxy if it has one.
func (h *Endpoint) Reach(ctx context.Context, l Progress) (net.Conn, error) {
	switch {
	case h.Command.Line != "":
		return startCommand(ctx, h, l)
	case h.Proxy != nil:
		return dialProxy(ctx, h, l)
	}
	return dialTCP(ctx, h, l)
}

// Address returns host:port.
func (h *Endpoint) Address() string { return net.JoinHostPort(h.Host, strconv.Itoa(h.Port)) }

// Dialed returns the name that this machine resolves to reach the server; empty if a program does.
func (h *Endpoint) Dialed() string {
	switch {
	case h.Command.Line != "":
		return ""
	case h.Proxy != nil:
		return h.Proxy.Hostname()
	}
	return h.Host
}

// IsAddress reports whether name is a numeric address.
func IsAddress(name string) bool {
	_, err := netip.ParseAddr(name)
	return err == nil
}

// LookUp resolves the server, or its proxy. The dialing step reports an error.
func (h *Endpoint) LookUp(ctx context.Context) {
	switch {
	case h.Command.Line != "": // the program looks it up
	case h.Proxy != nil:
		h.ProxyAddrs, h.LookUpErr = Resolve(ctx, &Endpoint{Host: h.Proxy.Hostname(), Family: "tcp"})
	default:
		h.Addrs, h.LookUpErr = Resolve(ctx, h)
	}
}

// Resolve returns the addresses of the server, limited to its address family.
func Resolve(ctx context.Context, h *Endpoint) ([]netip.Addr, error) {
	network := "ip" + h.Family[len("tcp"):]
	if a, err := netip.ParseAddr(h.Host); err == nil {
		return []netip.Addr{a}, nil
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, network, h.Host)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil || len(addrs) == 0 {
		return nil, h.unresolved(err)
	}
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	return addrs, nil
}

// unresolved is the error of a name that has no address. It also has the name that was asked for, by which a person finds
// the line of ssh_config: the one that is looked up is its HostName, or its lower case, as with ssh(1).
func (h *Endpoint) unresolved(err error) error {
	e := &term.Error{Kind: term.ConnectFailed, Err: err, Advice: "check the name, or give the address"}
	name, it := strconv.Quote(h.Host), "it"
	if h.Name != "" && h.Name != h.Host {
		it = strconv.Quote(h.Name)
		name += " (of " + it + ")"
	}
	switch {
	case h.Name != "" && !strings.EqualFold(h.Name, h.Host):
		e.Advice = "check the HostName of " + it
	case h.Config != "":
		e.Advice = "check the name, or add a HostName for " + it + " to " + h.Config
	}
	e.Msg = fmt.Sprintf("cannot resolve host name %s: %v", name, term.RootCause(err))
	return e
}
