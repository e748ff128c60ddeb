package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"ptyctl/term"
)

// A console holds the one session of a device. The call that makes the console makes the session.
//
// The Manager has it under the device's name before the session is dialed and until it has ended, so two calls at
// once cannot connect twice: many consoles carry one connection, and drop or mix a second.
type console struct {
	made    chan struct{} // closed when the session was made, or could not be
	session *Session      // nil: it could not be. Read after made is closed
}

// openConsole opens the device's session, or returns the one there is. One that has ended, or is being closed, is not
// returned: its end is waited for, and a new one opened. All waits together last at most as long as waiting.
//
// The Manager's mutex is not held meanwhile. Each round of the loop waits for a session that is made or one that
// ends, and both waits end with the call.
func (m *Manager) openConsole(ctx, waiting context.Context, r OpenRequest) (OpenResult, error) {
	for {
		c, first := m.consoleFor(r.console())
		if first {
			return m.makeConsole(ctx, waiting, r, c)
		}
		if err := waitConsole(ctx, waiting, c.made, r.console()); err != nil {
			m.refusedOpen(ctx, "", r, err)
			return OpenResult{}, err
		}
		s := c.session
		if s == nil { // the reason why the other call failed may not apply to this one
			continue
		}
		if s.life.ctx.Err() == nil {
			res, err := m.join(ctx, waiting, s, r)
			if err == nil && !res.State.Ended() || err != nil && !wasAbandoned(s) {
				return res, err
			}
		}
		if err := waitConsole(ctx, waiting, s.life.over, r.console()); err != nil {
			m.refusedOpen(ctx, s.id, r, err)
			return OpenResult{}, err
		}
	}
}

// OpenNew is Manager.Open for a caller that wants a new session: no open console is joined. With own the caller
// shares no sessions, and does not learn of another's.
func (v ServerView) OpenNew(ctx context.Context, r OpenRequest, own bool) (OpenResult, error) {
	r.newOnly, r.ownOnly = true, own
	return v.m.Open(ctx, r)
}

// NewID returns a fresh id for a session with a host or a device.
func (v ServerView) NewID(name string) string { return v.m.newID(name) }

// IDHere returns the id of a session with a name that the caller chose: that name, and the name of this machine if it
// has one among others.
func (v ServerView) IDHere(name string) string { return v.m.here(name) }

// A consoleKey identifies a console that has at most one session: a line of this machine, or else a device by its
// name, which callers choose. The zero value identifies no console.
type consoleKey struct {
	name   string
	line   bool // it is a line; no device name is equal to it
	absent bool // the line is not there now, and another one may get its name
}

// console returns the console that the session would open.
func (r OpenRequest) console() consoleKey {
	return consoleKey{name: cmp.Or(r.line, r.Device), line: r.line != ""}
}

// now returns the console of a session with that target, which was k before: a line may come back under another name.
func (k consoleKey) now(m *Manager, t term.Target) consoleKey {
	if !k.line {
		return k
	}
	line := m.c.Devices.Line(t)
	return consoleKey{name: cmp.Or(line, k.name), line: true, absent: line == ""}
}

// followLine gives the session that is being reopened the console of the line that its target leads to now.
func (g *reopening) followLine() error {
	m, s, t := g.m, g.s, g.target
	m.mu.Lock()
	from := s.owner.console
	m.mu.Unlock()
	to := from.now(m, t)
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.consoles[from]
	switch {
	case to == from || c == nil || c.session != s: // c is another one once s has ended
		return nil
	case m.consoles[to] != nil:
		return consoleTaken(s.id, to)
	}
	delete(m.consoles, from)
	m.consoles[to], s.owner.console = c, to
	return nil
}

// consoleTaken is the error of a session that is not reopened because another one has its console.
func consoleTaken(session string, k consoleKey) error {
	return sessionError("open", session, term.Busy, fmt.Sprintf(
		"another session has the console of device %q; open that device to join it", k.name,
	))
}

// refusedOpen tells the Observers that r was refused; id is the session that it would have joined, or empty.
func (m *Manager) refusedOpen(ctx context.Context, id string, r OpenRequest, err error) {
	m.refused(ctx, id, term.Event{
		Verb: term.VerbOpen, Protocol: r.Target.Protocol, Host: r.Target.Host, Detail: account(r.Target), Refused: err,
	})
}

// consoleFor returns the console of a device. If first, it is new, and the caller must fill it.
func (m *Manager) consoleFor(device consoleKey) (c *console, first bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.consoles[device]; c != nil {
		return c, false
	}
	c = &console{made: make(chan struct{})}
	m.consoles[device] = c
	return c, true
}

// makeConsole opens the session of a new console, which is removed if that fails, and with the session's end.
func (m *Manager) makeConsole(ctx, waiting context.Context, r OpenRequest, c *console) (OpenResult, error) {
	defer func() { // also when the Gate or the Journal panics
		if c.session == nil {
			m.removeConsole(r.console(), c)
			close(c.made)
		}
	}()
	s, lease, err := m.begin(ctx, r)
	if err != nil {
		return OpenResult{}, err
	}
	// Now, and not once it is open: calls that join see the question of a login, and one of them may answer it.
	c.session = s
	close(c.made)
	res, err := opened(ctx, waiting, s, true)
	res.Lease = lease
	return res, err
}

// removeConsole removes c, if it is still the console of the device.
func (m *Manager) removeConsole(device consoleKey, c *console) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.consoles[device] == c {
		delete(m.consoles, device)
	}
}

// join returns a console that another call has opened, or opens.
func (m *Manager) join(ctx, waiting context.Context, s *Session, r OpenRequest) (OpenResult, error) {
	d := s.auth.Begin(ctx, term.VerbOpen, term.Event{Detail: account(r.Target)})
	// The Gate judges a join as an open: a caller must not reach a host by another caller's session that it may not
	// open itself.
	err := m.checkOpen(d, r)
	theirs := !ownerOf(s).Is(d.Event.Actor.Principal())
	switch {
	case err != nil:
	case r.newOnly && !(r.ownOnly && theirs):
		err = &term.Error{
			Op: "open", Kind: term.Locked,
			Msg:   fmt.Sprintf("the console of device %q is open as session %s; use that one", r.console().name, s.id),
			Facts: term.Facts{term.DeviceOwner{Node: m.c.Devices.Node, SessionID: s.id, Since: s.created}},
		}
	case r.ownOnly && theirs:
		err = &term.Error{
			Op:   "open",
			Kind: term.Locked,
			Msg:  fmt.Sprintf("the console of device %q is in use by another client; try again later", r.console().name),
		}
	}
	if err == nil {
		err = d.PermitUnlocked(ctx, term.Action{Target: &r.Target})
	}
	d.End(err) // as for the call that made it, the session's state reports the outcome
	if err != nil {
		return OpenResult{}, err
	}
	res, err := opened(ctx, waiting, s, false)
	res.Existing = err == nil
	return res, err
}

// wasAbandoned reports whether the session was closed, while it was opening, by the call that opened it.
//
// A call that has joined it did not give up, so it opens another.
func wasAbandoned(s *Session) bool {
	return s.life.ctx.Err() != nil && errors.As(context.Cause(s.life.ctx), new(errClosedByCaller)) &&
		s.link.Load() == nil
}

// waitConsole waits for done, at most as long as the call may.
func waitConsole(ctx, waiting context.Context, done <-chan struct{}, device consoleKey) error {
	select {
	case <-done:
		return nil
	case <-waiting.Done():
	}
	if ctx.Err() != nil {
		return &term.Error{
			Op:   "open",
			Kind: term.Canceled,
			Msg:  fmt.Sprintf("canceled before the console of device %q was opened", device.name),
			Err:  ctx.Err(),
		}
	}
	return &term.Error{
		Op:   "open",
		Kind: term.Busy,
		Msg:  fmt.Sprintf("the console of device %q is just being opened or closed; open it again", device.name),
	}
}

// takeDevice makes a console's session the machine's one for its device.
//
// The map of consoles holds for this Manager alone; other processes of the machine may have the device as well.
func (m *Manager) takeDevice(ctx context.Context, s *Session) error {
	if s.o.Origin.Device == "" || m.c.Devices.Reserve == nil {
		return nil
	}
	r, err := m.c.Devices.Reserve(ctx, s.o.Origin.Device, s.id)
	if err != nil {
		return err
	}
	s.owner.device = r
	return nil
}

// dial connects s to t. If the session's Reservation holds sockets, it fails unless it holds the connection's, or the
// target is a line of this machine, which no other machine reaches.
func (m *Manager) dial(ctx context.Context, s *Session, t term.Target, by term.Actor) (term.Transport, error) {
	hold := s.owner.device.Hold
	if hold != nil {
		ctx = term.WithHold(ctx, s.owner.sockets.Hold(hold))
	}
	tr, err := m.c.Dialers[t.Protocol].Dial(ctx, t, s, m.planned(s, s.auth.Approve(by, t)))
	if err == nil && hold != nil && s.owner.sockets.None() && (m.c.Devices.Line == nil || m.c.Devices.Line(t) == "") {
		_ = tr.Close()
		tr, err = nil, term.NoSocket("a connection of protocol "+t.Protocol)
	}
	if err != nil {
		s.owner.sockets.Release()
		s.owner.checkDevice(s)
	}
	return tr, err
}

// releaseDevice undoes takeDevice.
func (o *owner) releaseDevice() {
	if o.device.Release != nil {
		o.device.Release()
	}
}

// watchDevice ends the session when the reservation of its device ends by itself. Requires that the session is one of
// its Manager's, because it may end at once.
func (o *owner) watchDevice(s *Session) {
	if o.device.AfterEnd == nil {
		return
	}
	s.life.mu.Lock()
	defer s.life.mu.Unlock()
	if s.life.state.Ended() {
		return
	}
	// The function runs in a goroutine that does not belong to the session: otherwise close would wait for itself.
	o.lasting = o.device.AfterEnd(func(err error) {
		defer s.group.rescue("reservation")
		// The connection is closed at once, and no command is given time to end: the device may soon be another's.
		s.close(deviceLost(err), true)
	})
}

// deviceLost is the cause of the end of a session after its reservation ended with err.
func deviceLost(err error) error {
	return errClosedByCaller{"ptyctl: this session no longer has its device: " + err.Error(), EndReservation}
}

// checkDevice makes the end of the reservation the cause of the session's end, if it has ended: a connection that is shut
// down then breaks, which alone would not say why.
func (o *owner) checkDevice(s *Session) {
	if o.device.Check == nil {
		return
	}
	if err := o.device.Check(); err != nil {
		s.life.cancel(deviceLost(err))
	}
}
