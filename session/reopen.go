package session

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"ptyctl/buffer"
	"ptyctl/session/access"
	"ptyctl/session/display"
	"ptyctl/session/known"
	"ptyctl/session/reopen"
	"ptyctl/session/snapshot"
	"ptyctl/term"
)

// A reopened session is another Session with the same id, which replaces the ended one. It has a transport, a life
// and goroutines of its own, so that no call for the old connection can reach the new one. The type kept has the
// parts that go on.

// kept has the parts that the connections of one session share.
type kept struct {
	created time.Time
	again   *term.Target // to connect to once more, without secrets
	never   string       // why that is not possible; empty: it is

	count   counters
	buf     *buffer.Buffer // with a break at each gap
	display *display.Display
	input   *access.InputLog
	expect  *patterns
	lock    *access.Lock
	runs    *commands
	known   *known.View // the secrets that it must not show; may be nil
	shots   *snapshot.Set

	opens     atomic.Int64
	dismissed atomic.Bool            // a caller has closed it after it had ended
	hostKey   atomic.Pointer[string] // of the connection before
}

// Snapshots returns the texts that callers keep with the session, through all its connections. They are dropped when
// it is forgotten.
func (v SessionView) Snapshots() *snapshot.Set { return v.s.shots }

// newKept makes these parts of a session with these options.
func newKept(o Options) *kept {
	k := &kept{
		created: time.Now(), again: o.managed.again, never: o.managed.never,
		buf: buffer.New(
			buffer.Options{MaxBytes: o.BufferBytes, MaxLines: o.BufferLines, Pool: o.managed.limits.memory},
		),
		display: display.New(o.PTY.Cols, o.PTY.Rows),
		input:   &access.InputLog{Keep: o.RecordTxEvents},
		expect:  &patterns{e: o.Expect},
		lock: &access.Lock{
			Table: o.Locks, Session: o.ID, Device: o.Origin.Device, AllowTakeOver: o.AllowTakeOver,
		},
		runs:  &commands{session: o.ID, byID: make(map[string]*run)},
		known: o.managed.known,
		shots: snapshot.New(o.managed.limits.memory),
	}
	if k.known != nil {
		k.display.Conceal(k.known)
	}
	if k.again == nil && k.never == "" {
		k.never = "its connection was made elsewhere"
	}
	return k
}

// again returns t as a session may remember it, without a secret, and why it is not connected to again, if so.
func again(t term.Target) (target *term.Target, never string) {
	if len(t.Local.Argv) > 0 {
		return nil, "what runs on this machine is not reopened"
	}
	if u, err := url.Parse(t.SSH.ProxyURL); err != nil || u.User != nil {
		return nil, "its proxy may need a password, which is not kept"
	}
	t.Auth = term.Auth{Method: t.Auth.Method, NoInteractive: t.Auth.NoInteractive, Secret: t.Auth.Secret}
	t.SSH.ExtraArgs = slices.Clone(t.SSH.ExtraArgs)
	return &t, ""
}

// EndedByFarSide reports whether the code is that of an end that neither a caller nor a limit of time has made.
func (c EndCode) EndedByFarSide() bool {
	switch c {
	case EndLost, EndRemoteClosed, EndExited, EndKilled:
		return true
	}
	return false
}

// A ReopenRequest says how to connect to the far side of an ended session again.
type ReopenRequest struct {
	Session *Session      // the ended session, or an earlier one that it has replaced
	Auth    *term.Auth    // of this login, because no secret is kept; nil: without a secret
	Try     time.Duration // how long attempts are repeated while the far side cannot be reached; 0: one attempt
	Wait    time.Duration // the longest this call waits; 0: until the first attempt is over or a question is asked
}

// A Reopening says how far the attempts to reopen a session have come.
type Reopening = reopen.Progress

// LongestReopening is the longest time for which attempts are repeated.
const LongestReopening = reopen.Longest

// Reopen connects a session again after its far side ended it or the connection was lost. The new connection is
// planned, judged and recorded like that of any session.
//
// The result's Session replaces the ended one, and has its id, output, results of commands, lock and patterns;
// cursors go on. No input is repeated. The call returns when the session is open, asks a question, or the first
// attempt has failed; with Try the State is then Connecting, and attempts go on until one succeeds, fails for another
// reason than the way to the far side, or Close ends them. If all fail, the session is as before, and may be reopened
// again.
func (m *Manager) Reopen(ctx context.Context, r ReopenRequest) (OpenResult, error) {
	waiting := ctx
	if r.Wait > 0 {
		var stop context.CancelFunc
		waiting, stop = context.WithTimeout(ctx, r.Wait)
		defer stop()
	}
	old := r.Session
	if now, err := m.Get(old.id); err == nil && now.kept == old.kept { // it was reopened before
		old = now
	}
	g := &reopening{
		m: m, old: old, by: term.ActorFrom(ctx), env: term.EnvironmentFrom(ctx), entry: term.EntryGateFrom(ctx), limit: r.Try,
		target: term.Target{Protocol: old.o.Origin.Protocol, Host: old.o.Origin.Host, User: old.o.Origin.User},
	}
	if old.again != nil {
		g.target = *old.again
	}
	if a := r.Auth; a != nil {
		method := g.target.Auth.Method
		g.target.Auth = *a
		if a.Method == "" && a.Password == "" && a.PrivateKeyPEM == "" { // it says how to ask, but has no credential
			g.target.Auth.Method = method
		}
	}
	o := old.o
	o.PTY = ownPTY(old)
	g.target.PTY = o.PTY
	g.s = newSession(o, owner{
		ended: m.ended, closed: m.dismissed, mayAsk: m.mayAsk, login: newLogin(g.target),
		whose: old.owner.whose,
	}, old.kept)
	m.mu.Lock()
	g.s.owner.console = old.owner.console
	m.mu.Unlock()
	g.s.life.opening = make(chan struct{})
	d := g.s.auth.Begin(ctx, term.VerbOpen, term.Event{Detail: "reopen " + account(g.target)})
	release, err := g.admit(ctx, d)
	d.End(err)
	close(g.s.life.opening)
	release()
	if err != nil {
		g.s.life.cancel(err)
		return OpenResult{}, err
	}
	if before, _ := old.window.size(); before != o.PTY { // that of a person; the display goes on
		g.s.display.Resize(o.PTY.Cols, o.PTY.Rows)
	}
	g.s.owner.watchDevice(g.s)
	g.s.group.spawn("open", g.connect)
	return reopened(ctx, waiting, g.s)
}

// A reopening is one call of Reopen.
type reopening struct {
	m      *Manager
	old, s *Session // the session that has ended, and the one that is to take its place
	target term.Target
	by     term.Actor
	env    *term.Environment // of the caller
	entry  term.Gate         // of the node that the caller is connected to; nil: this one
	limit  time.Duration
}

// connect dials until that succeeds or is of no use, and opens or ends the session. Like the first dial, it ends with
// the session, and has the environment of the caller.
func (g *reopening) connect() {
	m, s, t := g.m, g.s, g.target
	var tr term.Transport
	ctx := term.WithEntryGate(term.WithEnvironment(term.WithPerson(s.life.ctx, s.life.awaitPerson), g.env), g.entry)
	ctx = term.WithActor(ctx, g.by)
	err := reopen.Run(ctx, g.limit, func(ctx context.Context) (err error) {
		if err := g.followLine(); err != nil {
			return err
		}
		tr, err = m.dial(ctx, s, t, g.by)
		return err
	}, func(p Reopening) {
		s.o.Logger.Info("session not reopened yet", "session", s.id, "attempts", p.Attempts, "error", p.Err)
		s.life.missed(p)
	})
	if err != nil {
		s.finish(s.life.notReopened(err))
		return
	}
	s.attach(tr)
}

// reopened waits, as long as waiting lasts, until the session is open, asks a question, or an attempt has failed.
func reopened(ctx, waiting context.Context, s *Session) (OpenResult, error) {
	st, q := s.life.await(waiting, func(st State, q *term.Prompt) bool {
		return st == Open || st.Ended() || q != nil || s.life.reopening().Attempts > 0
	})
	switch {
	case st.Ended() && s.link.Load() == nil:
		return OpenResult{}, s.life.openError()
	case ctx.Err() != nil && st != Open:
		return OpenResult{}, &term.Error{
			Op: "open", Session: s.id, Kind: term.Canceled, Err: ctx.Err(), Reason: term.ReasonReopening,
			Msg:    term.CanceledMsg(ctx, "canceled while the session was being reopened, which goes on"),
			Advice: "Session.Close ends it",
		}
	}
	return OpenResult{Session: s, State: st, Prompt: q, again: true}, nil
}

// admit decides whether s may take the place of old, and lets it. release must be called when the event of that is out:
// others may use the console from then on.
func (g *reopening) admit(ctx context.Context, d *access.Call) (release func(), err error) {
	m, old, s := g.m, g.old, g.s
	release = func() {}
	if err := g.possible(); err != nil {
		return release, err
	}
	s.life.before = lastOf(old)
	if _, err := d.Permit(ctx, term.Action{Target: &g.target}); err != nil {
		return release, err
	}
	defer func() { d.Permitted(err == nil) }()
	// Nothing of the old connection may still read or write when the output goes on.
	timer := time.NewTimer(politeClose)
	defer timer.Stop()
	select {
	case <-old.group.wait():
	case <-timer.C:
		return release, sessionError("open", s.id, term.Busy, "the old connection has not let go yet; try again")
	case <-ctx.Done():
		return release, &term.Error{
			Op: "open", Session: s.id, Kind: term.Canceled, Err: ctx.Err(),
			Msg: term.CanceledMsg(ctx, "canceled before the session was reopened; nothing was done"),
		}
	}
	if err = m.room(ctx, s); err != nil {
		return release, err
	}
	if device := s.owner.console; device != (consoleKey{}) {
		device = device.now(m, g.target)
		s.owner.console = device
		c, first := m.consoleFor(device)
		if !first {
			return release, consoleTaken(s.id, device)
		}
		release = func() {
			if c.session == nil {
				m.removeConsole(device, c)
			}
			close(c.made)
		}
		if err = m.takeDevice(ctx, s); err != nil {
			return release, err
		}
		defer func() {
			if err == nil {
				c.session = s
			} else {
				s.owner.releaseDevice()
			}
		}()
	}
	return release, g.replace()
}

// possible refuses a session that is never reopened, or not now.
func (g *reopening) possible() error {
	const op = "open"
	old, t := g.old, g.target
	if !old.State().Ended() {
		return old.life.notEnded(op)
	}
	end := old.life.ending()
	final := func(msg string) error {
		return &term.Error{
			Op: op, Session: old.id, Kind: term.AlreadyClosed, Msg: msg, Advice: "open a new one",
			Facts: term.Facts{end.fact()},
		}
	}
	switch {
	case old.never != "":
		return &term.Error{
			Op: op, Session: old.id, Kind: term.Unsupported, Msg: "this session is not reopened: " + old.never,
			Advice: "open a new one",
		}
	case old.dismissed.Load():
		return final("a caller has closed this session after its end, which is for good")
	case !end.Code.EndedByFarSide():
		return final("this session has ended for good (" + end.Reason + ")")
	case old.timeouts.spent():
		return final("this session has reached its longest age, which counts from its first opening")
	case t.Auth.Method == "private_key" && t.Auth.PrivateKeyPEM == "":
		return &term.Error{
			Op: op, Session: old.id, Kind: term.InvalidArgument,
			Msg:   "the private key with which this session was opened is not kept; pass it again",
			Facts: term.Facts{term.ArgumentFault{Field: term.FieldPrivateKey}},
		}
	}
	return nil
}

// replace lets s take the place of old, which has ended.
func (g *reopening) replace() error {
	m, old, s := g.m, g.old, g.s
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fullLocked(); err != nil {
		return err
	}
	switch m.sessions[s.id] {
	case old:
	case nil:
		return m.notFound(s.id)
	default: // by another call
		return s.life.underWay("open")
	}
	if s.dismissed.Load() {
		return sessionError("open", s.id, term.AlreadyClosed,
			"a caller has just closed this session for good; open a new one")
	}
	m.keepLocked(old)
	s.timeouts.start() // before others can end it
	m.sessions[s.id] = s
	m.live++
	s.owner.whose.Keep(ownedSession{m, s})
	s.buf.Reopen()
	return nil
}

// mayReturn reports whether a session that has ended with that code may be reopened.
func (k *kept) mayReturn(code EndCode) bool {
	return k.never == "" && code.EndedByFarSide() && !k.dismissed.Load()
}

// opened makes k ready for a new connection, and returns warnings about it. Requires life.mu.
func (k *kept) opened(about term.Description) (warnings []string) {
	before := k.hostKey.Swap(&about.HostKey)
	if k.opens.Add(1) == 1 {
		return nil
	}
	k.display.Restart()
	// A policy that checks no key, or a second key on record, lets another host answer.
	if *before != about.HostKey {
		warnings = append(warnings, fmt.Sprintf(
			"the host key is not that of the connection before: %s, and was %s", about.HostKey, *before,
		))
	}
	return warnings
}

// A past is how a connection ended.
type past struct {
	state State // empty: no connection
	end   End
}

// lastOf returns how the last connection of s ended that was made.
func lastOf(s *Session) past {
	l := s.life
	if s.link.Load() == nil { // an attempt to reopen it has failed
		return l.before
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return past{l.state, l.end}
}

// missed notes that an attempt to reopen the session has failed, and another one follows.
func (l *life) missed(p Reopening) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle()
	l.progress = p
	if l.ctx.Err() == nil {
		l.set(Connecting)
	}
}

// reopening returns how far the attempts to reopen the session have come.
func (l *life) reopening() Reopening {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.progress
}

// notReopened is the end of a session that was not reopened because of err: as it was, but with that error.
func (l *life) notReopened(err error) (State, End) {
	_, now := failed(err)
	st, end := l.before.state, l.before.end
	end.Before, end.Reason, end.Err = end.Reason, "not reopened: "+now.Reason, err
	return st, end
}

// notEnded says why a session that has not ended is not reopened.
func (l *life) notEnded(op string) error {
	err := l.alive(op)
	switch e, _ := errors.AsType[*term.Error](err); {
	case err == nil:
		return sessionError(op, l.session, term.InvalidArgument, "this session is open, so there is nothing to reopen")
	case e.Reason == term.ReasonOpening && l.before.state != "":
		return l.underWay(op)
	}
	return err
}

// underWay is the error of a second attempt to reopen a session.
func (l *life) underWay(op string) error {
	return &term.Error{
		Op: op, Session: l.session, Kind: term.Busy, Reason: term.ReasonReopening,
		Msg: "this session is being reopened already", Advice: "wait for that, or end it with Session.Close",
	}
}

// AwaitOpen waits until the session is open, has ended or asks a question of its login. met is false if ctx ends first.
func (v SessionView) AwaitOpen(ctx context.Context) (met bool, err error) {
	s := v.s
	done := func(st State, q *term.Prompt) bool { return st == Open || st.Ended() || q != nil }
	look, cancel := context.WithCancel(ctx)
	cancel()
	if met = done(s.life.await(look, done)); met || ctx.Err() != nil {
		return met, nil
	}
	reads := s.o.managed.limits.reads // as for a read: only a wait takes a place
	if !reads.enter() {
		return false, s.TooManyReads()
	}
	defer reads.leave()
	return done(s.life.await(ctx, done)), nil
}
