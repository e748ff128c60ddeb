// Package reserved keeps a session from reaching its device after the reservation has ended.
//
// A reservation that is a lease can end while the session is alive: its machine may have been paused, or cut off from
// the grantor of leases, and another machine may have the device since. So a Check comes before each write, and
// before every other action that sends data to the far side. Data that a transport sends by itself, such as the
// answers of a protocol, stops when the connection is closed; the end of the reservation closes it.
package reserved

import (
	"context"
	"errors"
	"io"

	"ptyctl/term"
)

// A Check returns nil while the reservation of a device lasts. It must return at once, and do no I/O.
type Check func() error

// Refusal is the error of an action that was not done because the reservation has ended. An error of kind Locked or any
// other in term's vocabulary stays as it is.
func Refusal(err error) error {
	if e, ok := errors.AsType[*term.Error](err); ok {
		return e
	}
	return &term.Error{
		Kind: term.Locked, Reason: term.ReasonReservationEnded, Err: err,
		Msg:    "this session no longer has its device: " + err.Error(),
		Advice: "nothing more is sent to it; open the device again",
	}
}

// do calls f if the check passes. The end of the reservation is also the error of an f that it has made fail, because the
// connection was cut meanwhile.
func (c Check) do(f func() error) error {
	if err := c(); err != nil {
		return Refusal(err)
	}
	err := f()
	if err != nil {
		if over := c(); over != nil {
			return Refusal(over)
		}
	}
	return err
}

// Transport returns t with checked writes and changes of size. Reads are not checked. The result has none of t's other
// abilities.
func (c Check) Transport(t term.Transport) term.Transport { return &transport{Transport: t, check: c} }

type transport struct {
	term.Transport
	check Check
}

// Write implements io.Writer.
func (t *transport) Write(p []byte) (n int, err error) {
	err = t.check.do(func() error { n, err = t.Transport.Write(p); return err })
	return n, err
}

// Resize implements term.Transport.
func (t *transport) Resize(cols, rows int) error {
	return t.check.do(func() error { return t.Transport.Resize(cols, rows) })
}

// Abilities are those of a transport that send something. Nil: it does not have it.
type Abilities struct {
	Execer     term.Execer
	Signaler   term.Signaler
	Subsystems term.Subsystemer
	Forwarder  term.Forwarder
	Keys       term.KeySender
	Clear      term.Transparenter
}

// Abilities returns a with a check before each call.
func (c Check) Abilities(a Abilities) Abilities {
	g := &guarded{check: c, a: a}
	if a.Execer != nil {
		a.Execer = g
	}
	if a.Signaler != nil {
		a.Signaler = g
	}
	if a.Subsystems != nil {
		a.Subsystems = g
	}
	if a.Forwarder != nil {
		a.Forwarder = g
	}
	if a.Keys != nil {
		a.Keys = g
	}
	if a.Clear != nil {
		a.Clear = g
	}
	return a
}

type guarded struct {
	check Check
	a     Abilities
}

// Exec implements term.Execer.
func (g *guarded) Exec(ctx context.Context, r term.ExecRequest, stdout, stderr io.Writer) (exit term.Exit, err error) {
	err = g.check.do(func() error { exit, err = g.a.Execer.Exec(ctx, r, stdout, stderr); return err })
	return exit, err
}

// Signal implements term.Signaler.
func (g *guarded) Signal(ctx context.Context, name string) error {
	return g.check.do(func() error { return g.a.Signaler.Signal(ctx, name) })
}

// Subsystem implements term.Subsystemer.
func (g *guarded) Subsystem(ctx context.Context, name string) (s io.ReadWriteCloser, err error) {
	err = g.check.do(func() error { s, err = g.a.Subsystems.Subsystem(ctx, name); return err })
	return s, err
}

// Forward implements term.Forwarder.
func (g *guarded) Forward(ctx context.Context, host string, port int) (s term.Stream, err error) {
	err = g.check.do(func() error { s, err = g.a.Forwarder.Forward(ctx, host, port); return err })
	return s, err
}

// SendKey implements term.KeySender.
func (g *guarded) SendKey(ctx context.Context, name string) error {
	return g.check.do(func() error { return g.a.Keys.SendKey(ctx, name) })
}

// Transparent implements term.Transparenter.
func (g *guarded) Transparent(ctx context.Context) (restore func(), doubt string, err error) {
	err = g.check.do(func() error { restore, doubt, err = g.a.Clear.Transparent(ctx); return err })
	return restore, doubt, err
}
