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

	"ptyctl/term"
)

// The ports of Telnet (RFC 854) and of Telnet over TLS.
const (
	port    = 23
	portTLS = 992
)

const connectTimeout = 15 * time.Second

// A Dialer makes connections. The zero value makes plain ones, as the zero Config has them.
type Dialer struct {
	Config         Config
	TLS            *TLS          // nil: none
	ConnectTimeout time.Duration // from the look-up of the name to the end of the TLS handshake; 0: 15 s

	// Dial reaches the address in place of TCP: through a bastion, a proxy. The host in it is not looked up here. It has
	// a limit of its own, since a bastion may ask questions; ConnectTimeout is for what follows. If what it returns is a
	// term.Describer, that tells the way. It must ask approve about its plan, as a term.Dialer.
	Dial func(ctx context.Context, network, address string, approve term.Approve) (net.Conn, error)

	// SendUser tells the user's name of a term.Target to a server that asks for it (RFC 1572).
	SendUser bool
}

// DialContext connects, and waits until negotiation has settled. The port may be left out. ctx ends the attempt, not
// the connection.
func (d Dialer) DialContext(ctx context.Context, network, address string) (*Conn, error) {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		host, service = address, ""
	}
	number := 0
	if service != "" {
		if number, err = net.LookupPort(network, service); err != nil {
			return nil, invalid("port", "port %q: %v", service, err)
		}
	}
	a := d.attempt(host, number)
	conn, err := a.connect(ctx, network, nil)
	if err != nil {
		return nil, a.failed(err)
	}
	return conn, nil
}

// An attempt is one connection being made.
type attempt struct {
	d        Dialer
	hop      term.Hop
	ladder   []term.Hop // of the way to it, as the caller's Dial tells
	warnings []string   // and what it warns of
	open     string     // the rung being climbed
	since    time.Time
	tls      *term.TLS
}

func (d Dialer) attempt(host string, number int) *attempt {
	if number == 0 {
		number = port
		if d.TLS != nil {
			number = portTLS
		}
	}
	return &attempt{d: d, hop: term.Hop{Host: host, Port: number}}
}

// begin starts a rung, and with it ends the one before as climbed.
func (a *attempt) begin(step string) {
	a.end(true, "")
	a.open, a.since = step, time.Now()
}

// end ends the rung being climbed.
func (a *attempt) end(ok bool, detail string) {
	if a.open != "" {
		a.hop.Steps = append(
			a.hop.Steps,
			term.Step{Name: a.open, OK: ok, DurationMS: time.Since(a.since).Milliseconds(), Detail: detail},
		)
		a.open = ""
	}
}

// climbed takes the way to the far side: its bastions come first, and its own rungs below ours.
func (a *attempt) climbed(way []term.Hop) {
	if n := len(way) - 1; n >= 0 && way[n].Host == a.hop.Host && way[n].Port == a.hop.Port {
		a.hop.Steps, a.hop.Address = append(slices.Clone(way[n].Steps), a.hop.Steps...), way[n].Address
		a.open = "" // it is among them
		way = way[:n]
	}
	a.ladder = append(a.ladder, way...)
}

func (a *attempt) hops() []term.Hop { return append(slices.Clone(a.ladder), a.hop) }

// failed adds to an error how far the connection came.
func (a *attempt) failed(err error) error {
	e, ok := errors.AsType[*term.Error](err)
	if !ok {
		e = &term.Error{
			Kind: term.ConnectFailed,
			Err:  err,
			Msg:  fmt.Sprintf("cannot connect to %s: %v; check host and port", a.address(), rootCause(err)),
		}
	}
	named := *e
	named.Op = "open"
	details := term.Details{}
	if e.Details != nil {
		details = *e.Details
	}
	a.climbed(details.Ladder)
	detail := ""
	if !ok {
		detail = rootCause(err).Error()
	}
	a.end(false, detail)
	details.Ladder = a.hops()
	if details.Hop == "" {
		details.Hop = a.address()
	}
	named.Details = &details
	return &named
}

func (a *attempt) address() string { return net.JoinHostPort(a.hop.Host, strconv.Itoa(a.hop.Port)) }

// connect climbs the ladder: dns, tcp, tls, telnet.
func (a *attempt) connect(ctx context.Context, network string, approve term.Approve) (*Conn, error) {
	if _, err := a.d.Config.withDefaults(); err != nil { // before anything is sent
		return nil, err
	}
	limit := a.d.ConnectTimeout
	if limit == 0 {
		limit = connectTimeout
	}
	late := &term.Error{
		Kind: term.ConnectTimeout,
		Msg: fmt.Sprintf(
			"no connection to %s within %s; check that the host is up and that nothing on the way drops packets, or raise timeouts.connect_timeout_ms",
			a.address(),
			limit,
		),
	}
	var nc net.Conn
	var err error
	if a.d.Dial != nil {
		nc, err = a.way(ctx, network, approve)
	}
	limited, cancel := context.WithTimeoutCause(ctx, limit, late)
	defer cancel()
	if a.d.Dial == nil {
		nc, err = a.dial(limited, network, approve)
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
	if err == nil || len(conn.ahead) > 0 { // what a server says before it hangs up is for the user to read
		err = conn.stranger()
	} else if ctx.Err() == nil && !errors.Is(err, term.NegotiationLoop) {
		err = &term.Error{Kind: term.ConnectFailed, Err: err, Msg: fmt.Sprintf("%s closed the connection at once: %v; it may allow no more connections, or none from here", a.address(), rootCause(err))}
	}
	if err != nil {
		_ = conn.Close()
		return nil, canceled(ctx, err)
	}
	a.end(true, "")
	return conn, nil
}

// canceled returns what err means when the caller has given up.
func canceled(ctx context.Context, err error) error {
	if ctx.Err() == nil || errors.As(err, new(*term.Error)) {
		return err
	}
	return &term.Error{Kind: term.Canceled, Err: err, Msg: "canceled while connecting"}
}

// way connects by the caller's own Dial, whose rungs come before ours.
func (a *attempt) way(ctx context.Context, network string, approve term.Approve) (net.Conn, error) {
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
		a.climbed(about.Ladder)
	}
	return nc, nil
}

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
	dialer := net.Dialer{Control: keepUrgent} // keep-alive is on, after 15 s: Telnet has none that every server takes
	for i, addr := range addrs {
		var nc net.Conn
		if nc, err = dialOne(ctx, dialer, network, netip.AddrPortFrom(addr, uint16(a.hop.Port)), len(addrs)-i); err == nil {
			return nc, nil
		}
		if over(ctx) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
	}
	return nil, &term.Error{
		Kind: term.ConnectFailed,
		Err:  err,
		Msg: fmt.Sprintf(
			"cannot connect to %s: %v; check that the host is up and that port %d is the one its Telnet server listens on",
			a.address(),
			rootCause(err),
			a.hop.Port,
		),
	}
}

// plan is what a is about to do. There is nothing of an ssh_config in it, so the name means what it says.
func (a *attempt) plan(addrs []netip.Addr) term.Plan {
	h := a.hop.Host
	return term.Plan{
		Unresolved: len(addrs) == 0,
		Hops:       []term.PlannedHop{{Alias: h, Host: h, Port: a.hop.Port, Vouched: []string{h}, Addresses: addrs}},
	}
}

// Preview returns the plan that Open would ask about for t, straight to its host. Nothing is sent to it; its name is looked
// up, if that is possible.
func Preview(ctx context.Context, t term.Target) term.Plan {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	a := Dialer{}.attempt(t.Host, t.Port)
	addrs, _ := resolve(ctx, "tcp", t.Host)
	plan := a.plan(addrs)
	plan.Unresolved = false
	return plan
}

// over reports whether the context has ended or is about to: a connection attempt ends with a clock of its own, which may
// be ahead of the context's.
func over(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return ctx.Err() != nil || limited && !time.Now().Before(deadline)
}

// dialOne connects to one of several addresses, and leaves their share of the time to the others.
func dialOne(ctx context.Context, d net.Dialer, network string, addr netip.AddrPort, left int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok && left > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer cancel()
	}
	return d.DialContext(ctx, network, addr.String())
}

// resolve returns the addresses of a host.
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
			Msg:  fmt.Sprintf("cannot resolve host name %q: %v; check the name", host, rootCause(err)),
		}
	}
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	return addrs, nil
}

// rootCause strips the operation and address that net puts around an error: the message names them itself.
func rootCause(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return errors.New(dns.Err)
	}
	return err
}
