package telnet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"ptyctl/internal/exhausted"
	"ptyctl/telnet/urgent"
	"ptyctl/term"
)

// The ports of Telnet (RFC 854) and of Telnet over TLS.
const (
	port    = 23
	portTLS = 992
)

// connectTimeout is the default of Dialer.ConnectTimeout.
const connectTimeout = 15 * time.Second

// A Dialer makes connections. The zero value makes plain TCP connections with the zero
// Config.
type Dialer struct {
	Config         Config
	TLS            *TLS          // nil: no TLS
	ConnectTimeout time.Duration // from the name lookup to the end of the TLS handshake; 0: 15 s

	// Dial replaces TCP, for example by a bastion or a proxy. The Dialer does not resolve the
	// host then. Dial has its own time limit, since a bastion may ask questions; ConnectTimeout
	// starts after it. If the returned connection is a term.Describer, it describes the hops.
	// Dial must call approve with its plan, as a term.Dialer must.
	Dial func(ctx context.Context, network, address string, approve term.Approve) (net.Conn, error)

	// SendUser sends the user name of a term.Target to a server that asks for it (RFC 1572).
	SendUser bool
}

// DialContext connects and waits until negotiation has settled. address is host or host:port,
// with port 23 as the default, or 992 with TLS. ctx limits the attempt, not the connection.
func (d Dialer) DialContext(ctx context.Context, network, address string) (*Conn, error) {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		host, service = address, ""
	}
	number := 0
	if service != "" {
		if number, err = net.LookupPort(network, service); err != nil {
			return nil, invalid(term.FieldPort, "port %q: %v", service, err)
		}
	}
	a := d.attempt(host, number)
	conn, err := a.connect(ctx, network, nil)
	if err != nil {
		return nil, a.failed(err)
	}
	return conn, nil
}

// An attempt is one connection in progress, with the steps recorded so far.
type attempt struct {
	d        Dialer
	hop      term.Hop
	route    []term.Hop // the hops before it, described by Dialer.Dial
	warnings []string   // and its warnings
	open     string     // the current step
	since    time.Time  // the start of that step
	tls      *term.TLS
}

// attempt prepares a connection to host; number 0 means the default port.
func (d Dialer) attempt(host string, number int) *attempt {
	if number == 0 {
		number = port
		if d.TLS != nil {
			number = portTLS
		}
	}
	return &attempt{d: d, hop: term.Hop{Host: host, Port: number}}
}

// begin starts a step, and marks the one before as successful.
func (a *attempt) begin(step string) {
	a.end(true, "")
	a.open, a.since = step, time.Now()
}

// end records the result of the current step.
func (a *attempt) end(ok bool, detail string) {
	if a.open != "" {
		a.hop.Steps = append(
			a.hop.Steps,
			term.Step{Name: a.open, OK: ok, DurationMS: time.Since(a.since).Milliseconds(), Detail: detail},
		)
		a.open = ""
	}
}

// addHops adds the hops of Dialer.Dial: bastions become hops before this one, and its steps
// to this host come before those of the attempt.
func (a *attempt) addHops(hops []term.Hop) {
	if n := len(hops) - 1; n >= 0 && hops[n].Host == a.hop.Host && hops[n].Port == a.hop.Port {
		a.hop.Steps, a.hop.Address = append(slices.Clone(hops[n].Steps), a.hop.Steps...), hops[n].Address
		a.open = "" // that step is included in them
		hops = hops[:n]
	}
	a.route = append(a.route, hops...)
}

// hops returns all hops so far, the host itself last.
func (a *attempt) hops() []term.Hop { return append(slices.Clone(a.route), a.hop) }

// failed adds the hops and steps so far to an error.
func (a *attempt) failed(err error) error {
	e, ok := errors.AsType[*term.Error](err)
	if !ok {
		e = &term.Error{
			Kind: term.ConnectFailed,
			Err:  err,
			Msg:  fmt.Sprintf("cannot connect to %s: %v; check host and port", a.address(), term.RootCause(err)),
		}
	}
	named := *e
	named.Op = "open"
	failure := term.FactOf[term.ConnectFailure](e)
	a.addHops(failure.Ladder)
	detail := ""
	if !ok {
		detail = term.RootCause(err).Error()
	}
	a.end(false, detail)
	failure.Ladder = a.hops()
	if failure.Hop == "" {
		failure.Hop = a.address()
	}
	named.Facts = e.Facts.With(failure)
	return &named
}

// address returns host:port.
func (a *attempt) address() string { return net.JoinHostPort(a.hop.Host, strconv.Itoa(a.hop.Port)) }

// connect runs the steps dns, tcp, tls and telnet.
func (a *attempt) connect(ctx context.Context, network string, approve term.Approve) (*Conn, error) {
	if _, err := a.d.Config.withDefaults(); err != nil { // check before the first packet
		return nil, err
	}
	limit := a.d.ConnectTimeout
	if limit == 0 {
		limit = connectTimeout
	}
	late := &term.Error{
		Kind:   term.ConnectTimeout,
		Reason: term.ReasonSlow,
		Msg:    fmt.Sprintf("no connection to %s within %s", a.address(), limit),
		Advice: "check that the host is up and that nothing on the way drops packets, or raise Target.ConnectTimeout",
	}
	var nc net.Conn
	var err error
	// Dial has a limit of its own, so the time limit starts after it.
	if a.d.Dial != nil {
		nc, err = a.dialCustom(ctx, network, approve)
	}
	limited, cancel := context.WithTimeoutCause(ctx, limit, late)
	defer cancel()
	if a.d.Dial == nil {
		nc, err = a.dial(limited, network, approve)
		if a.open == "dns" && errors.Is(err, late) {
			err = exhausted.NoNameServer(a.hop.Host, limit)
		}
	}
	if err != nil {
		return nil, canceled(ctx, err)
	}
	if nc.RemoteAddr() != nil && a.hop.Address == "" {
		a.hop.Address = nc.RemoteAddr().String()
	}
	if t := a.d.TLS; t != nil {
		a.begin("tls")
		secured, err := t.client(limited, nc, a.hop.Host)
		if err != nil {
			_ = nc.Close()
			return nil, canceled(ctx, err)
		}
		a.tls = t.describe(secured.ConnectionState())
		nc = secured
	}
	a.begin("telnet")
	conn, err := NewConn(nc, a.d.Config)
	if err != nil {
		_ = nc.Close()
		return nil, err
	}
	err = conn.Settle(ctx)
	if err == nil || len(conn.ahead) > 0 { // the user must see a server's last words
		err = conn.checkPeer()
	} else if ctx.Err() == nil && !errors.Is(err, term.NegotiationLoop) {
		err = &term.Error{Kind: term.ConnectFailed, Err: err, Msg: fmt.Sprintf(
			"%s closed the connection at once: %v; it may limit connections, or refuse this address",
			a.address(), term.RootCause(err))}
	}
	if err != nil {
		_ = conn.Close()
		return nil, canceled(ctx, err)
	}
	a.end(true, "")
	return conn, nil
}

// canceled converts err to Canceled if ctx has ended and err is not already an error of ours.
func canceled(ctx context.Context, err error) error {
	if ctx.Err() == nil || errors.As(err, new(*term.Error)) {
		return err
	}
	return &term.Error{Kind: term.Canceled, Err: err, Msg: "canceled while connecting"}
}

// dialCustom connects by Dialer.Dial and adds its steps before those of the attempt.
func (a *attempt) dialCustom(ctx context.Context, network string, approve term.Approve) (net.Conn, error) {
	a.begin("tcp")
	nc, err := a.d.Dial(ctx, network, a.address(), approve)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	if d, ok := nc.(term.Describer); ok {
		about := d.Describe()
		a.warnings = about.Warnings
		a.addHops(about.Ladder)
	}
	return nc, nil
}

// dial resolves the host and connects by TCP, to each address in turn. It asks approve before
// the name is sent to a resolver, and again with the addresses.
func (a *attempt) dial(ctx context.Context, network string, approve term.Approve) (net.Conn, error) {
	if _, err := netip.ParseAddr(a.hop.Host); err != nil {
		if _, err := approve.Ask(ctx, a.plan(nil)); err != nil {
			return nil, err
		}
	}
	a.begin("dns")
	addrs, err := resolve(ctx, network, a.hop.Host)
	if err != nil {
		return nil, err
	}
	if _, err := approve.Ask(ctx, a.plan(addrs)); err != nil {
		return nil, err
	}
	a.begin("tcp")
	dialer := net.Dialer{Control: urgent.Keep}
	// Each address gets its share of the time, so that one that does not answer cannot use it
	// all.
	for i, addr := range addrs {
		var nc net.Conn
		target := netip.AddrPortFrom(addr, uint16(a.hop.Port))
		if nc, err = dialOne(ctx, dialer, network, target, len(addrs)-i); err == nil {
			// The maker of the Hold releases it: nothing may be around the socket, which urgent data needs.
			if _, err = term.HoldSocket(ctx, nc); err != nil {
				_ = nc.Close()
				return nil, err
			}
			return nc, nil
		}
		if over(ctx) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
	}
	return nil, a.refused(err)
}

// refused is the error of a connection that was not made.
func (a *attempt) refused(err error) error {
	what := "cannot connect to " + a.address()
	if exhausted.Descriptors(err) {
		return exhausted.NoDescriptors(what, err)
	}
	advice := fmt.Sprintf("check that the host is up and that port %d is the one its Telnet server listens on", a.hop.Port)
	if exhausted.Ports(err) {
		advice = exhausted.PortAdvice
	}
	return &term.Error{
		Kind: term.ConnectFailed, Err: err, Msg: fmt.Sprintf("%s: %v; %s", what, term.RootCause(err), advice),
	}
}

// plan returns the plan for approve. No ssh_config is involved, so the name itself is vouched
// for.
func (a *attempt) plan(addrs []netip.Addr) term.Plan {
	h := a.hop.Host
	return term.Plan{
		Unresolved: len(addrs) == 0,
		Hops:       []term.PlannedHop{{Alias: h, Host: h, Port: a.hop.Port, Vouched: []string{h}, Addresses: addrs}},
	}
}

// Preview returns the plan that Open would submit for a direct connection to t. It resolves
// the name if possible, and sends nothing to the host.
func Preview(ctx context.Context, t term.Target) term.Plan {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	a := Dialer{}.attempt(t.Host, t.Port)
	addrs, _ := resolve(ctx, "tcp", t.Host)
	plan := a.plan(addrs)
	plan.Unresolved = false
	return plan
}

// over reports whether the context has ended or is about to. A connection attempt has a clock
// of its own, which may be ahead of the context's.
func over(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return ctx.Err() != nil || limited && !time.Now().Before(deadline)
}

// dialOne connects to one of left addresses, and leaves the others their share of the time.
func dialOne(ctx context.Context, d net.Dialer, network string, addr netip.AddrPort, left int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok && left > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer cancel()
	}
	return d.DialContext(ctx, network, addr.String())
}

// resolve returns the addresses of a host name or address.
func resolve(ctx context.Context, network, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	family := "ip"
	if network == "tcp4" || network == "tcp6" {
		family += network[len("tcp"):]
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, family, host)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil || len(addrs) == 0 {
		return nil, &term.Error{
			Kind: term.ConnectFailed,
			Err:  err,
			Msg:  fmt.Sprintf("cannot resolve host name %q: %v; check the name", host, term.RootCause(err)),
		}
	}
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	return addrs, nil
}
