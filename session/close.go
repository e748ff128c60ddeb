package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"ptyctl/session/access"
	"ptyctl/term"
)

// CloseOptions say how to close.
//
// Without Force, commands beside the terminal are stopped first, while the connection is up.
type CloseOptions struct {
	Force bool // give the far side no time
}

// The time Close gives the far side before it ends the session anyway.
const (
	// Longer than stopGrace, so that commands can be stopped while the connection is up.
	politeClose = 5 * time.Second
	forcedClose = 900 * time.Millisecond
)

// Close ends the session and waits for its goroutines. It reports whether the session had ended before. It never
// fails: goroutines that do not end in time are abandoned, and the session is over for every caller.
func (s *Session) Close(ctx context.Context, o CloseOptions) (already bool) {
	actor, by := term.ActorFrom(ctx), "the caller"
	if h := access.HolderOf(actor); h.Attached() {
		by = h.String()
	} else if h.Task != "" {
		by = "task " + h.Task
	}
	var how string
	if o.Force {
		how = "force"
	}
	d := s.auth.Begin(ctx, term.VerbClose, term.Event{Detail: how})
	d.Permitted(true) // by MayClose, or because no permission is needed
	if already = s.close(errClosedByCaller{by: by}, o.Force); already {
		d.Event.Detail = "already closed"
		s.dismissed.Store(true) // it is not reopened
		s.lock.Table.Drop(s.id)
		if s.owner.closed != nil {
			s.owner.closed(s)
		}
	}
	d.End(nil)
	return already
}

// close ends the session for the given cause and waits for its goroutines, at most for politeClose or, with force,
// forcedClose. Without force, commands beside the terminal get stopGrace to stop while the connection is still up. It
// reports whether the session had ended already.
func (s *Session) close(cause error, force bool) (already bool) {
	already = s.State().Ended()
	s.life.cancel(cause)
	limit := politeClose
	if force {
		limit = forcedClose
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	if !force {
		// They are stopped over the connection, so it is closed last.
		s.execs.awaitStopped(stopGrace)
		s.far.Stop(stopGrace)
	}
	s.hangUp()
	select {
	case <-s.group.wait():
	case <-timer.C:
		s.o.Logger.Warn("a session's goroutines did not end in time", "session", s.id, "limit", limit)
	}
	s.finish(Closed, endOf(cause))
	return already
}

// MayClose decides whether the caller may end the session: it asks the lock, the Gate and the Journal as for any
// action, but force does without the lock. A refusal is an event. A caller may always close a session that has ended,
// unless it may be reopened and another holds its lock.
func (v SessionView) MayClose(ctx context.Context, force bool) error {
	s := v.s
	if _, held := s.Lease(); s.State().Ended() && !held {
		return nil
	}
	d := s.auth.Begin(ctx, term.VerbClose, term.Event{})
	var err error
	if force {
		err = d.PermitUnlocked(ctx, term.Action{})
	} else {
		_, err = d.Permit(ctx, term.Action{})
	}
	if err != nil { // otherwise Close reports it
		d.End(err)
	}
	return err
}

// Settle waits, at most d, until a login that was just given an answer has taken its next step: it is open, has
// ended, or asks the next question.
func (s *Session) Settle(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	s.life.await(ctx, func(st State, q *term.Prompt) bool { return st == Open || st.Ended() || q != nil })
}

// finish ends the session once and for all; later calls change nothing. err is nil when it ended as it should.
func (s *Session) finish(st State, end End) {
	l := s.life
	l.mu.Lock()
	if l.state.Ended() {
		l.mu.Unlock()
		return
	}
	if end.Err != nil {
		switch {
		case errors.Is(end.Err, term.Internal):
			end.Code = EndFault
		case l.state != Open:
			end.Code = cmp.Or(l.before.end.Code, EndNotOpened)
		}
	}
	end.Reason, end.Err = l.known.String(end.Reason), l.known.Error(end.Err)
	l.cancel(endCause{end.Reason, end.Code}) // without effect if Close came first
	if by := (errClosedByCaller{}); errors.As(context.Cause(l.ctx), &by) {
		st, end.Reason, end.Code, end.Err = Closed, by.Error(), by.endCode(), nil
	}
	end.Time = time.Now()
	l.end = end
	if s.owner.lasting != nil {
		s.owner.lasting()
	}
	from := l.state
	l.settle()
	// Before the state says so: a caller that sees the end of the session can read the end of its output.
	_ = s.buf.Close()
	if s.owner.ended != nil { // before it too: who sees the end may count on the place being free
		s.owner.ended(s)
	}
	l.set(st)
	l.mu.Unlock()

	defer close(l.told)
	if !s.mayReturn(end.Code) { // otherwise the holder keeps it until it expires, and decides how to go on
		s.lock.Table.Drop(s.id)
	}
	s.timeouts.stop()
	close(l.over)
	if l.opening != nil { // the end comes after the beginning
		<-l.opening
	}
	s.auth.Observe(
		term.Event{
			Verb:     term.VerbState,
			State:    string(st),
			From:     string(from),
			Detail:   end.Reason,
			Duration: end.Time.Sub(l.began),
			Err:      end.Err,
			Exit:     end.known(),
		},
	)
	if e, ok := errors.AsType[*term.Error](end.Err); ok && e.Kind == term.Internal && e.Err != nil {
		s.o.Logger.Error("a fault ended a session", "session", s.id, "cause", e.Err)
	}
	s.o.Logger.Info("session ended", "session", s.id, "state", string(st), "reason", end.Reason)
}

// endOf is the End of a session after its context ended for cause.
func endOf(cause error) End {
	f := endedFact(cause)
	return End{Code: EndCode(f.Code), Reason: f.Reason}
}

// failed is the end of a session that err has ended. Its reason leaves the error's advice out, which is for a caller of
// this library: a program that serves others has advice of its own.
func failed(err error) (State, End) {
	end := End{Code: EndLost, Reason: err.Error(), Err: err}
	if e, ok := errors.AsType[*term.Error](err); ok {
		bare := *e
		bare.Advice = ""
		end.Reason = bare.Error()
	}
	return Failed, end
}

// faulted ends the session because a goroutine of its own has panicked. Nothing of the panic reaches a caller: its text
// may hold anything.
func (s *Session) faulted(where string, fault any) {
	s.o.Logger.Error("panic in a session's goroutine",
		"session", s.id, "where", where, "panic", fmt.Sprint(fault), "stack", stack())
	s.finish(failed(sessionError(where, s.id, term.Internal,
		"a fault in ptyctl ended this session; open a new one, and report the log")))
	s.hangUp()
}

// timeouts close a session that is too old, and one that is open without a byte in either direction and without a
// running exec for too long. A nil *timeouts never does.
//
// Both have one timer. It is not set again by each byte, which would cost the pump more than the byte: touch stores
// the time, and the timer, when it fires, looks at it.
type timeouts struct {
	s    *Session
	idle time.Duration // 0: no limit
	age  time.Duration // 0: no limit
	mine bool          // the request has set age, not the operator

	mu    sync.Mutex // guards the following
	last  time.Time
	timer *time.Timer // nil before start, and once stopped
}

// newTimeouts returns the limits of a session, or nil if it has none. The methods of a nil *timeouts do nothing, so
// callers need no check. The shorter of the operator's and the request's age applies.
func newTimeouts(s *Session, o Options) *timeouts {
	l := &timeouts{s: s, idle: max(o.IdleTimeout, 0), age: max(o.MaxAge, 0)}
	if o.managed.life > 0 && (l.age == 0 || o.managed.life < l.age) {
		l.age, l.mine = o.managed.life, true
	}
	if l.idle == 0 && l.age == 0 {
		return nil
	}
	return l
}

// start begins to count.
func (l *timeouts) start() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = time.Now()
	wait := l.idle
	if left := l.age - time.Since(l.s.created); l.age > 0 && (wait == 0 || left < wait) {
		wait = left
	}
	l.timer = time.AfterFunc(wait, func() {
		defer l.s.group.rescue("timeouts")
		l.check()
	})
}

// touch says that something happened.
func (l *timeouts) touch() {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.last = time.Now()
	l.mu.Unlock()
}

// stop ends the checks. A check that already runs may still close the session.
func (l *timeouts) stop() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
}

// spent reports whether the session has reached its longest age, which counts from its first opening.
func (l *timeouts) spent() bool {
	return l != nil && l.age > 0 && time.Since(l.s.created) >= l.age
}

// check closes the session, or looks again when it could be over at the earliest.
//
// It runs in the goroutine of the timer, which does not belong to the session: otherwise close would wait for itself.
func (l *timeouts) check() {
	if by, code := l.over(); code != "" {
		l.s.close(errClosedByCaller{"ptyctl: " + by, code}, false)
	}
}

// over says whether the session's time is over, and why; if not, it sets the timer.
func (l *timeouts) over() (by string, code EndCode) {
	// A login is not idle: a person may be looking for the answer, which has a time of its own.
	busy := l.s.count.running.Load() > 0 || l.s.State() != Open || l.s.execs.waiting()
	l.mu.Lock()
	defer l.mu.Unlock()
	var next time.Duration
	if l.age > 0 {
		if next = l.age - time.Since(l.s.created); next <= 0 {
			what := "the longest age of a session"
			if l.mine {
				what = "its timeout"
			}
			return "it was there for " + l.age.String() + ", " + what, EndMaxAge
		}
	}
	if l.idle > 0 {
		left := l.idle - time.Since(l.last)
		switch {
		case busy:
			left = l.idle
		case left <= 0:
			return "nothing happened for " + l.idle.String() + ", its idle timeout", EndIdle
		}
		if next == 0 || left < next {
			next = left
		}
	}
	if l.timer != nil {
		l.timer.Reset(next)
	}
	return "", ""
}

// goroutines are those of one session. A panic in one is reported to failed, and ends no other.
type goroutines struct {
	failed func(where string, fault any)

	mu     sync.Mutex     // guards the following
	sealed bool           // wait was called: no goroutine may be added
	wg     sync.WaitGroup // of those that run
}

// spawn runs f in a goroutine that wait waits for. It reports false, and runs nothing, once wait was called.
func (g *goroutines) spawn(where string, f func()) bool {
	g.mu.Lock()
	if g.sealed {
		g.mu.Unlock()
		return false
	}
	g.wg.Add(1)
	g.mu.Unlock()
	go func() {
		defer g.wg.Done()
		defer g.rescue(where)
		f()
	}()
	return true
}

// spawnLate is spawn for goroutines that the end of the session needs: they must run even after wait was called.
func (g *goroutines) spawnLate(where string, f func()) {
	g.wg.Go(func() {
		defer g.rescue(where)
		f()
	})
}

// wait returns a channel that is closed when no goroutine is left, and lets none be added.
//
// No goroutine may be added once the count may have come down to zero while this waits (see sync.WaitGroup.Add),
// hence sealed.
func (g *goroutines) wait() <-chan struct{} {
	g.mu.Lock()
	g.sealed = true
	g.mu.Unlock()
	gone := make(chan struct{})
	go func() {
		g.wg.Wait()
		close(gone)
	}()
	return gone
}

// rescue contains a panic of the goroutine that defers it.
func (g *goroutines) rescue(where string) {
	if r := recover(); r != nil {
		g.failed(where, r)
	}
}

// stack returns the stack of the calling goroutine, for the log.
func stack() string { return string(debug.Stack()) }
