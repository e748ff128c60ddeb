package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"ptyctl/internal/exhausted"
	"ptyctl/quote"
	"ptyctl/session/access"
	"ptyctl/term"
)

// An OpenRequest describes the session to open.
//
// Only Target is required. Durations and sizes (in bytes) that are zero take the default named beside them.
type OpenRequest struct {
	Target      term.Target
	ID          string        // of the new session, one that is free; empty: a fresh one
	BufferBytes int           // output kept for readers; 0: the manager's
	BufferLines int           // 0: the manager's
	Device      string        // the console to open, or to share if it is open; empty: a normal session
	IdleTimeout time.Duration // 0: the manager's
	Auto        bool          // see Origin
	Life        time.Duration // close it after so long, if the manager would not before; 0: no such limit
	Expect      Expect
	LockTTL     time.Duration // >0: take the lock at once for the caller's task
	Wait        time.Duration // the longest this call waits; 0: until the session is open or asks something

	line    string // see DeviceOptions
	ownOnly bool   // see ServerView.OpenOwn
	newOnly bool   // see ServerView.OpenNew
}

// An OpenResult is a session that opens, or has opened.
type OpenResult struct {
	Session *Session
	State   State        // Open; Authenticating with a Prompt; Connecting after Wait; Closed if it ended
	Prompt  *term.Prompt // the question that must be answered with Write, or nil
	Lease   *Lease

	Existing bool // a console that another call has opened: without a Lease

	again bool // it is of Reopen
}

// Open makes a session and connects it. The dialing goes on under the session's own context when the call has to
// return before it is done. If the call is canceled, no caller knows the session's id, and it is closed.
func (m *Manager) Open(ctx context.Context, r OpenRequest) (OpenResult, error) {
	r.Target.ConnectTimeout = cmp.Or(r.Target.ConnectTimeout, max(m.c.ConnectTimeout, 0))
	r.IdleTimeout = cmp.Or(r.IdleTimeout, m.c.IdleTimeout)
	// The end of waiting returns the session as it is then. The end of ctx means that no caller takes the result.
	waiting := ctx
	if r.Wait > 0 {
		var stop context.CancelFunc
		waiting, stop = context.WithTimeout(ctx, r.Wait)
		defer stop()
	}
	if m.c.Devices.Line != nil {
		r.line = m.c.Devices.Line(r.Target)
	}
	if r.console() != (consoleKey{}) {
		return m.openConsole(ctx, waiting, r)
	}
	s, lease, err := m.begin(ctx, r)
	if err != nil {
		return OpenResult{}, err
	}
	res, err := opened(ctx, waiting, s, true)
	res.Lease = lease
	return res, err
}

// OpenOwn is Manager.Open for a caller that shares no sessions: of an open console, another's is not joined.
func (v ServerView) OpenOwn(ctx context.Context, r OpenRequest) (OpenResult, error) {
	r.ownOnly = true
	return v.m.Open(ctx, r)
}

// begin makes a session that connects, if that is permitted and there is room for it.
func (m *Manager) begin(ctx context.Context, r OpenRequest) (*Session, *Lease, error) {
	o := m.options(r)
	o.Origin.Opener = term.ActorFrom(ctx)
	s := newSession(o, owner{
		ended: m.ended, closed: m.dismissed, mayAsk: m.mayAsk, login: newLogin(r.Target),
		whose: m.owners.Opened(o.Origin.Opener.Principal()), console: r.console(),
	}, nil)
	s.timeouts.start()
	d := s.auth.Begin(ctx, term.VerbOpen, opening(r.Target))
	lease, err := m.admit(ctx, s, d, r)
	d.End(err) // the session's state reports whether it opens
	if err != nil {
		return nil, nil, err
	}
	// Only the judged words run: the Gate may have put another program, or printed words, in place of the caller's.
	if d.Ruling.Argv != nil {
		r.Target.Local.Argv = d.Ruling.Argv
	}
	if d.Ruling.Program != "" {
		r.Target.Local.Program = d.Ruling.Program
	}
	if r.Target.Host == "" { // it has no plan that would say where it leads
		s.known.At(term.Place(r.Target.Serial.Path, 0))
	}
	s.owner.watchDevice(s)
	env, entry := term.EnvironmentFrom(ctx), term.EntryGateFrom(ctx)
	s.group.spawn("open", func() { connect(m, s, r.Target, env, entry) })
	return s, lease, nil
}

// connect dials t and, if that succeeds, opens the session. It is the session's first goroutine.
//
// The dial ends with the session and not with the call that asked for it, which may return before. It has the
// environment of that call's caller, and acts for them; entry is the gate of the node that has passed the call on.
func connect(m *Manager, s *Session, t term.Target, env *term.Environment, entry term.Gate) {
	ctx := term.WithEntryGate(term.WithEnvironment(term.WithPerson(s.life.ctx, s.life.awaitPerson), env), entry)
	ctx = term.WithActor(ctx, s.o.Origin.Opener)
	tr, err := m.dial(ctx, s, t, s.o.Origin.Opener)
	if err != nil {
		s.finish(failed(err))
		return
	}
	s.attach(tr)
}

// admit makes s one of the manager's. A refused session never existed, so no event reports its end.
func (m *Manager) admit(ctx context.Context, s *Session, d *access.Call, r OpenRequest) (*Lease, error) {
	if err := m.mayOpen(ctx, s, d, r); err != nil {
		// A refused session never ends, so its resources are released here.
		s.timeouts.stop()
		s.life.cancel(err)
		s.owner.releaseDevice()
		return nil, err
	}
	if r.LockTTL <= 0 {
		return nil, nil
	}
	l, err := s.Lock(ctx, r.LockTTL)
	if err != nil {
		s.finish(failed(err))
	}
	return &l, err
}

// mayOpen asks whether s may be, and counts it if so.
//
// The Gate comes first, so that a caller who is refused learns nothing of devices and limits. The place among the
// sessions comes last, because only the end of a session gives it back.
func (m *Manager) mayOpen(ctx context.Context, s *Session, d *access.Call, r OpenRequest) error {
	if err := m.checkOpen(d, r); err != nil {
		return err
	}
	local := r.Target.Local
	if err := d.PermitUnlocked(ctx, term.Action{
		Target: &r.Target, Command: quote.Show(local.Argv), Argv: local.Argv, Dir: local.Dir, Env: local.Env,
	}); err != nil {
		return err
	}
	err := m.room(ctx, s)
	if err == nil {
		err = m.takeDevice(ctx, s)
	}
	if err == nil {
		err = m.add(s)
	}
	d.Permitted(err == nil)
	return err
}

// room refuses a connection for which the system has no room, or which would be one more unanswered login.
func (m *Manager) room(ctx context.Context, s *Session) error {
	err := m.descriptors.check()
	if err != nil && m.settle(ctx) {
		err = m.descriptors.check()
	}
	if err == nil && m.c.Room != nil {
		err = m.c.Room()
	}
	if err == nil {
		err = m.unanswered(s)
	}
	return err
}

// settleTime is how long an open waits for the descriptors of sessions that have ended.
const settleTime = 5 * time.Second

// settle waits for the Observers that have files of ended sessions open. It reports whether there are such Observers.
func (m *Manager) settle(ctx context.Context) (some bool) {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	for _, o := range m.c.Observers {
		if o, ok := o.(term.Settler); ok {
			o.Settle(ctx)
			some = true
		}
	}
	return some
}

// checkOpen refuses requests that no manager, or not this one, can fulfil.
func (m *Manager) checkOpen(d *access.Call, r OpenRequest) error {
	const op = "open"
	switch {
	case m.c.Dialers[r.Target.Protocol] == nil:
		return &term.Error{
			Op:    op,
			Kind:  term.Unsupported,
			Msg:   fmt.Sprintf("protocol %q is not built into this ptyctl", r.Target.Protocol),
			Facts: term.Facts{term.ArgumentFault{Field: term.FieldProtocol, Allowed: m.Protocols()}},
		}
	case r.LockTTL > 0 && access.HolderOf(d.Event.Actor).Nameless():
		return &term.Error{
			Op:     op,
			Kind:   term.InvalidArgument,
			Reason: term.ReasonNoTask,
			Msg:    "a lock belongs to a task, and this call names none",
			Advice: "name one here, and in each call that needs the lock",
			Facts:  term.Facts{term.ArgumentFault{Field: term.FieldTask}},
		}
	}
	return nil
}

// opening is the event with the target of the caller.
func opening(t term.Target) term.Event {
	if len(t.Local.Argv) == 0 {
		return term.Event{Detail: account(t)}
	}
	e := term.Event{Detail: surroundings(t.Local)}
	if !t.PTY.Disabled { // otherwise the event of the exec has it
		e.Command = quote.Show(t.Local.Argv)
	}
	return e
}

// options are those of a new session for r.
func (m *Manager) options(r OpenRequest) Options {
	name, host := r.Target.Host, r.Target.Host
	local := r.Target.Local
	if len(local.Argv) > 0 {
		name, host = filepath.Base(local.Argv[0]), "localhost"
	}
	if line := r.Target.Serial.Path; line != "" {
		name, host = filepath.Base(line), line
	}
	if r.Device != "" {
		name = r.Device
	}
	r.Target.PTY.NoAnswers = r.Target.PTY.NoAnswers || m.c.Input.NoAnswers
	target, never := again(r.Target)
	id := cmp.Or(r.ID, m.newID(name))
	return Options{
		ID: id,
		Origin: Origin{
			Protocol: r.Target.Protocol, Host: host, User: r.Target.User, Device: r.Device, Auto: r.Auto,
		},
		PTY: r.Target.PTY, Expect: r.Expect,
		BufferBytes: cmp.Or(r.BufferBytes, m.c.BufferBytes), BufferLines: cmp.Or(r.BufferLines, m.c.BufferLines),
		ExecBytes: m.c.ExecBytes, Retention: m.c.Retention,
		WriteTimeout: m.c.WriteTimeout, QuietLine: m.c.QuietLine,
		PromptTimeout: m.c.PromptTimeout, IdleTimeout: r.IdleTimeout, MaxAge: m.c.MaxAge,
		Locks: &m.locks, AllowTakeOver: m.c.Input.AllowTakeOver, Gate: m.c.Gate, Journal: m.c.Journal,
		Observers: m.c.Observers, Logger: m.c.Logger, RecordTxEvents: m.c.Input.RecordTxEvents, FarFiles: m.c.FarFiles, Forward: m.c.Forward,
		Secrets: m.c.Input.Secrets,
		managed: managed{
			limits: m.limits, dir: local.Dir, life: r.Life,
			stays:   len(local.Argv) > 0 && !r.Target.PTY.Disabled,
			program: len(local.Argv) > 0 && r.Target.PTY.Disabled,
			again:   target, never: never, known: m.c.Input.Known.View(id),
		},
	}
}

// opened waits, as long as waiting lasts, until the session is open, asks a question, or has failed. If the caller of
// ctx gives up, and the session was made for this call (ours), it is closed.
func opened(ctx, waiting context.Context, s *Session, ours bool) (OpenResult, error) {
	st, q := s.life.await(waiting, func(st State, q *term.Prompt) bool { return st == Open || st.Ended() || q != nil })
	if ctx.Err() != nil && st != Open && !ours {
		return OpenResult{}, &term.Error{
			Op:      "open",
			Session: s.id,
			Kind:    term.Canceled,
			Msg:     term.CanceledMsg(ctx, "canceled while another call was opening the session; that goes on"),
			Err:     ctx.Err(),
		}
	}
	// No caller has its id, so none could ever close it.
	if ctx.Err() != nil && st != Open {
		s.close(errClosedByCaller{by: "the caller, who gave up while it was opening"}, true)
		return OpenResult{}, &term.Error{
			Op:      "open",
			Session: s.id,
			Kind:    term.Canceled,
			Msg:     "canceled while the session was opening; it is closed",
			Err:     ctx.Err(),
		}
	}
	if st.Ended() && s.link.Load() == nil {
		return OpenResult{}, s.life.openError()
	}
	return OpenResult{Session: s, State: st, Prompt: q}, nil
}

// Again waits on, at most for wait, when a question of the login has been answered, or has not: as Open does.
func (r OpenResult) Again(ctx context.Context, wait time.Duration) (OpenResult, error) {
	waiting, stop := context.WithTimeout(ctx, wait)
	defer stop()
	var next OpenResult
	var err error
	if r.again {
		next, err = reopened(ctx, waiting, r.Session)
	} else {
		next, err = opened(ctx, waiting, r.Session, !r.Existing)
	}
	next.Lease, next.Existing = r.Lease, r.Existing
	return next, err
}

// openError is why an opening session ended.
//
// It is the dialer's error with all its facts: the caller of an open is the one who can use them.
func (l *life) openError() error {
	end := l.ending()
	if e, ok := errors.AsType[*term.Error](end.Err); ok {
		named := *e
		named.Op, named.Session = "open", l.session
		return &named
	}
	if end.Err == nil { // only Close ends an opening session without an error
		return &term.Error{
			Op:      "open",
			Session: l.session,
			Kind:    term.Canceled,
			Msg:     "the session ended while it was opening: " + end.Reason,
			Facts:   term.Facts{end.fact()},
		}
	}
	return &term.Error{Op: "open", Session: l.session, Kind: term.Internal, Err: end.Err}
}

// reservedDescriptors is how many file descriptors must be free before a session opens: those of the connection
// itself, and of the files that are read meanwhile to decide about it (ssh_config, known_hosts, keys).
const reservedDescriptors = 12

// descriptors keeps a Manager's sessions from using up the file descriptors of the process. An action that runs out
// of them half way fails with errors that are hard to understand; a call that is refused before it begins changes
// nothing.
//
// The zero value is ready to use.
type descriptors struct {
	mu sync.Mutex // held while the reserve is probed, so that two probes do not take it from each other
}

// check returns an error unless the reserve is free.
func (d *descriptors) check() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := exhausted.RoomFor(reservedDescriptors); err != nil {
		e := exhausted.NoDescriptors("there is no room for another session", err)
		e.Op = "open"
		return e
	}
	return nil
}
