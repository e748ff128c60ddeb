package telnet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"

	"ptyctl/term"
)

// A Terminal is a Conn as a term.Transport.
type Terminal struct {
	conn     *Conn
	route    []term.Hop
	tls      *term.TLS
	peer     term.Peer
	line     *term.Serial // of the server, as it has confirmed it; nil: none was set
	warnings []string
	first    []byte // first bytes of the data; used by Read, and by Wait after it
}

// Open implements term.Dialer. It never calls the Prompter: Telnet has no login of its own,
// and the user answers the server's prompt.
func (d Dialer) Open(
	ctx context.Context,
	t term.Target,
	_ term.Prompter,
	approve term.Approve,
) (term.Transport, error) {
	d, warnings, err := d.forTarget(t)
	if err != nil {
		return nil, err
	}
	a := d.attempt(t.Host, t.Port)
	conn, err := a.connect(ctx, "tcp", approve)
	if err != nil {
		return nil, a.failed(err)
	}
	line, doubts, err := setLine(ctx, conn, t.Serial)
	if err != nil {
		_ = conn.Close()
		return nil, a.failed(canceled(ctx, err))
	}
	return &Terminal{
		conn: conn, route: a.hops(), tls: a.tls, peer: a.peer(t.Telnet.TLS), line: line,
		warnings: slices.Concat(warnings, a.warnings, doubts),
	}, nil
}

// peer returns the far side of the connection. A certificate proves that it is the host only if the call, by asked, has
// chosen neither its name nor its fingerprint. Without that proof, a host behind another one, which resolves the name,
// may be any machine.
func (a *attempt) peer(asked term.TLSOptions) term.Peer {
	p := term.Peer{Protocol: "telnet", Host: a.hop.Host, Port: a.hop.Port}
	own := asked.Pin == "" && (asked.ServerName == "" || strings.EqualFold(asked.ServerName, a.hop.Host))
	if a.tls != nil && a.tls.Verified != "no" && own {
		p.TLS = a.tls.Verified
	}
	switch direct := a.d.Dial == nil; {
	case direct:
		p.Names = []string{p.Host}
		if addr, err := netip.ParseAddrPort(a.hop.Address); err == nil && addr.Addr().Unmap().String() != p.Host {
			p.Names = append(p.Names, addr.Addr().Unmap().String())
		}
	case p.TLS != "":
		p.Names = []string{p.Host}
	}
	return p
}

// forTarget returns d with the settings of the target, or an error for a setting that Telnet
// lacks.
func (d Dialer) forTarget(t term.Target) (_ Dialer, warnings []string, err error) {
	auth := t.Auth
	auth.NoInteractive = false // this field concerns jump hosts
	if auth != (term.Auth{}) {
		e := invalid(term.FieldAuth, "Telnet has no authentication of its own")
		e.Reason, e.Advice = term.ReasonTelnetLogin, "leave Auth empty, read the login prompt and answer it"
		return d, nil, e
	}
	if t.Host == "" {
		return d, nil, invalid(term.FieldHost, "the host is missing")
	}
	if t.Port < 0 || t.Port > 65535 {
		return d, nil, invalid(term.FieldPort, "port %d is invalid; ports are 1 to 65535", t.Port)
	}
	if t.Serial != (term.SerialOptions{}) {
		if _, err := settingsOf(t.Serial, new(term.Serial)); err != nil {
			return d, nil, err
		}
		d.Config.Offer = offering(d.Config.Offer)
	}
	if t.ConnectTimeout != 0 {
		d.ConnectTimeout = t.ConnectTimeout
	}
	c := &d.Config
	if t.PTY.Term != "" || len(c.Terminal) == 0 {
		c.Terminal = terminals(t.PTY.OrDefault().Term)
	}
	if t.PTY.Cols != 0 {
		c.Cols = t.PTY.Cols
	}
	if t.PTY.Rows != 0 {
		c.Rows = t.PTY.Rows
	}
	c.NoWindow = c.NoWindow || t.PTY.Disabled
	set(&c.Mode, Mode(t.Telnet.Mode))
	set(&c.Enter, Enter(t.Telnet.Enter))
	set(&c.Binary, BinaryPolicy(t.Telnet.Binary))
	if t.User != "" {
		if d.SendUser {
			c.Env = append(slices.Clone(c.Env), term.EnvVar{Name: "USER", Value: t.User})
		} else {
			warnings = append(warnings, "the user name was not sent: Telnet has no login of its own; "+
				"answer the server's prompt")
		}
	}
	want := t.Telnet.TLS
	if want.Enabled || d.TLS != nil {
		var own TLS
		if d.TLS != nil {
			own = *d.TLS
		}
		set(&own.ServerName, want.ServerName)
		set(&own.Pin, want.Pin)
		if own.Pin != "" {
			if _, err := parsePin(own.Pin); err != nil {
				return d, nil, err
			}
		}
		d.TLS = &own
	} else if want != (term.TLSOptions{}) {
		return d, nil, invalid(term.FieldTLS, "a server name or a pin says how TLS is verified; enable TLS as well")
	}
	return d, warnings, nil
}

// set replaces *to unless v is the zero value.
func set[T comparable](to *T, v T) {
	var none T
	if v != none {
		*to = v
	}
}

// Conn returns the connection, for operations that term.Transport lacks.
func (t *Terminal) Conn() *Conn { return t.conn }

// maxFirst is the number of bytes needed to recognize another protocol.
const maxFirst = 8

// Read implements term.Transport.
func (t *Terminal) Read(p []byte) (int, error) {
	n, err := t.conn.Read(p)
	if len(t.first) < maxFirst {
		t.first = append(t.first, p[:min(n, maxFirst-len(t.first))]...)
	}
	return n, err
}

// Write implements term.Transport.
func (t *Terminal) Write(p []byte) (int, error) { return t.conn.Write(p) }

// Divide implements term.Divider. A CR at the end of a Write is the Enter key, and an LF that follows in the next Write
// would be a second line end.
func (t *Terminal) Divide(data []byte, limit int) int {
	if limit > 1 && data[limit-1] == '\r' && data[limit] == '\n' {
		return limit - 1
	}
	return limit
}

// Resize implements term.Transport.
func (t *Terminal) Resize(cols, rows int) error { return t.conn.Resize(cols, rows) }

// SendKey implements term.KeySender.
func (t *Terminal) SendKey(ctx context.Context, name string) error { return t.conn.SendKey(ctx, name) }

// Transparent implements term.Transparenter.
func (t *Terminal) Transparent(ctx context.Context) (restore func(), doubt string, err error) {
	return t.conn.Transparent(ctx)
}

// Close implements term.Transport.
func (t *Terminal) Close() error { return t.conn.Close() }

// Wait implements term.Waiter. Telnet has no exit status, but Wait returns the error that
// ended the stream, if it is known.
func (t *Terminal) Wait() (term.Exit, error) {
	err := t.conn.Lost()
	if odd := checkPeer(t.conn.config.Mode, t.first); odd != nil {
		return term.Exit{}, odd
	}
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return term.Exit{}, nil
	case errors.As(err, new(*term.Error)):
		return term.Exit{}, err
	default:
		return term.Exit{}, &term.Error{
			Op:   "read",
			Kind: term.RemoteClosed,
			Err:  err,
			Msg: fmt.Sprintf(
				"the connection to %s broke: %v; open the session again",
				t.route[len(t.route)-1].Host,
				term.RootCause(err),
			),
		}
	}
}

// clearText is the warning about plain Telnet.
const clearText = "Telnet is not encrypted: prefer SSH or TLS"

// Peer implements term.Peerer.
func (t *Terminal) Peer() term.Peer { return t.peer }

// Echoes implements term.Echoer. A server that does not echo leaves that to the terminal of a person (RFC 857). One
// that does may still keep a password to itself.
func (t *Terminal) Echoes() term.Support {
	if s := t.conn.State(); !s.Raw && !s.RemoteEcho {
		return term.Yes
	}
	return term.Maybe
}

// Describe implements term.Describer.
func (t *Terminal) Describe() term.Description {
	state := t.conn.State()
	d := term.Description{
		PTY: !t.conn.config.NoWindow, Ladder: t.route, Warnings: t.warnings, TLS: t.tls, Telnet: &state, Serial: t.line,
		Capabilities: term.Capabilities{
			SplitStdoutStderr: term.No,
			ExitCode:          term.BestEffort,
			Resize:            term.No,
			Signal:            term.No,
			ParallelExec:      term.No,
		},
	}
	if slices.Contains(state.Local, NAWS.String()) {
		d.Capabilities.Resize = term.Yes
	}
	switch {
	case t.tls == nil:
		d.Security = clearText
	case t.tls.Verified == "no":
		d.Security = "The connection is encrypted, but the server's certificate was not verified: " +
			"the server may be an impostor. " +
			"Verify the fingerprint " + t.tls.Certificate + " in another way, then pin it."
	}
	return d
}

var (
	_ term.Dialer    = Dialer{}.Open
	_ term.Transport = (*Terminal)(nil)
	_ term.Waiter    = (*Terminal)(nil)
	_ term.Describer = (*Terminal)(nil)
	_ term.KeySender = (*Terminal)(nil)
	_ term.Divider   = (*Terminal)(nil)
	_ term.Peerer    = (*Terminal)(nil)
	_ term.Echoer    = (*Terminal)(nil)

	_ term.Transparenter = (*Terminal)(nil)
)
