package session

import (
	"context"
	"errors"
	"slices"
	"time"

	"ptyctl/term"
)

const (
	// maxRuns is how many execs with unfetched output a session keeps; the oldest that has ended goes first.
	maxRuns = 32

	// stopGrace is how long a canceled exec may take to be gone before its result says that it may not be.
	stopGrace = 4 * time.Second
)

// errExecCanceled is the cause of a run's context after CancelExec.
var errExecCanceled = errors.New("exec canceled by the caller")

// A run is one command on a channel of its own, from its start until its output is no longer kept.
type run struct {
	id       string
	ctx      context.Context // ends at the command's deadline, or when it is canceled
	cancel   context.CancelCauseFunc
	started  time.Time
	deadline time.Time
	stdout   *stream
	stderr   *stream
	expect   Expect
	done     chan struct{}

	// Set before done is closed.
	exit     term.Exit
	err      error
	duration time.Duration
}

// start runs the command in a goroutine of the session's.
func (s *Session) start(r ExecRequest) (*run, error) {
	now := time.Now()
	x := &run{
		id: "exec-" + NewID("x")[2:], started: now, deadline: now.Add(r.Timeout), done: make(chan struct{}),
		stdout: newStream(s.o.ExecBytes), stderr: newStream(s.o.ExecBytes), expect: s.Expect().with(r.Expect),
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	ctx, stop := context.WithDeadline(ctx, x.deadline)
	x.ctx, x.cancel = ctx, cancel
	s.keep(x)
	s.count.execs.Add(1)
	s.count.running.Add(1)
	s.idle.touch()
	ok := s.spawn("exec", func() {
		defer func() {
			x.duration = time.Since(x.started)
			_ = x.stdout.buf.Close()
			_ = x.stderr.buf.Close()
			s.count.running.Add(-1)
			s.idle.touch()
			close(x.done)
			stop()
			cancel(nil)
			id := x.id // the timer must not keep the output of a run that is forgotten before
			time.AfterFunc(s.o.Retention, func() { s.forget(id) })
		}()
		x.err = errRunPanicked
		x.exit, x.err = s.execer.Exec(ctx, term.ExecRequest{Command: r.Command, Dir: r.Dir, Env: r.Env, Stdin: r.Stdin}, x.stdout, x.stderr)
	})
	if !ok {
		stop()
		cancel(nil)
		s.count.running.Add(-1)
		s.forget(x.id)
		return nil, s.endedError("exec")
	}
	return x, nil
}

// errRunPanicked stands until Exec has returned.
var errRunPanicked = &term.Error{Op: "exec", Kind: term.Internal, Msg: "a fault in ptyctl ended this command; report the log"}

// ended reports whether the command has.
func (x *run) ended() bool {
	select {
	case <-x.done:
		return true
	default:
		return false
	}
}

// put reports whether the command has put out anything.
func (x *run) put() bool {
	return x.stdout.buf.Stat().End > 0 || x.stderr.buf.Stat().End > 0
}

// run finds an exec by its id.
func (s *Session) run(op, id string) (*run, error) {
	s.mu.Lock()
	x := s.runs[id]
	s.mu.Unlock()
	if x == nil {
		return nil, &term.Error{Op: op, Session: s.id, Kind: term.NotFound, Msg: "this session has no exec " + id + "; its output was returned in full, or is no longer kept"}
	}
	return x, nil
}

// keep registers x, and forgets the oldest ended run beyond maxRuns.
func (s *Session) keep(x *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs[x.id] = x
	s.runOrder = append(s.runOrder, x.id)
	if len(s.runs) <= maxRuns {
		return
	}
	for _, id := range s.runOrder {
		if s.runs[id].ended() {
			s.forgetLocked(id)
			return
		}
	}
}

func (s *Session) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetLocked(id)
}

// forgetLocked requires s.mu.
func (s *Session) forgetLocked(id string) {
	delete(s.runs, id)
	s.runOrder = slices.DeleteFunc(s.runOrder, func(o string) bool { return o == id })
}
