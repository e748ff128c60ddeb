package session

import (
	"cmp"
	"context"
	"errors"
	"time"

	"ptyctl/session/output"
	"ptyctl/session/paced"
	"ptyctl/session/prompt"
	"ptyctl/term"
)

// collect waits for x, at most r.Wait, and makes a result of the outcome so far.
func (e *execs) collect(ctx context.Context, x *run, r ContinueRequest) (ExecResult, error) {
	x.deadline.Attend()
	err := e.await(ctx, x, r.Wait)
	x.deadline.Leave(true) // also of a call that was canceled: its error names the command
	if err != nil {
		return ExecResult{}, err
	}
	return e.result(ctx, x, r)
}

// await waits until there is something to say about x, at most for wait.
func (e *execs) await(ctx context.Context, x *run, wait time.Duration) error {
	s := e.s
	timer := time.NewTimer(max(wait, 0))
	defer timer.Stop()
	// A far side that does not obey must not keep the call: the next result has its later output.
	late := time.NewTimer(0)
	late.Stop()
	defer late.Stop()
	over := x.life.ctx.Done()
	for {
		w, turned := x.waitsOn()
		if w != nil && x.ctx.Err() == nil { // for an answer that only the caller can give
			return nil
		}
		left, limited, moved := x.deadline.Next()
		switch {
		case over == nil: // late is set
		case limited:
			late.Reset(max(left, 0) + x.proof.deadline)
		default:
			late.Stop()
		}
		select {
		case <-turned:
		case <-moved:
		case <-x.done:
			return nil
		case <-timer.C:
			return nil
		case <-late.C:
			return nil
		case <-over: // x ends with the session, and needs a moment for it
			over = nil
			late.Reset(x.proof.end)
		case <-ctx.Done():
			if x.wants.stopOnCancel {
				x.cancel(errExecCanceled)
				return &term.Error{
					Op:      "exec",
					Session: s.id,
					Kind:    term.Canceled,
					Msg:     "the call was canceled, and the command with it, as it was to stop then: exec " + x.id,
					Err:     ctx.Err(),
				}
			}
			if errors.Is(context.Cause(ctx), term.ErrStopping) {
				return &term.Error{
					Op:      "exec",
					Session: s.id,
					Kind:    term.Canceled,
					Msg: "ptyctl is stopping, which ends the session: exec " + x.id + " cannot be waited for, and " +
						e.endsWithPtyctl(x),
					Err: ctx.Err(),
				}
			}
			return &term.Error{
				Op:      "exec",
				Session: s.id,
				Kind:    term.Canceled,
				Reason:  term.ReasonCanceledRunning,
				Msg:     "the call was canceled; the command goes on until its own deadline as exec " + x.id,
				Advice:  "Session.ContinueExec waits for it",
				Facts:   term.Facts{term.Occupied{Exec: x.id}},
				Err:     ctx.Err(),
			}
		}
	}
}

// endsWithPtyctl says whether a command ends when ptyctl stops. SSH servers let a command on a channel go on when the
// connection ends.
func (e *execs) endsWithPtyctl(x *run) string {
	if l := e.s.link.Load(); x.lane == LaneChannel && (l == nil || l.about.Process == nil) {
		return "whether its command is still at work there is not known"
	}
	return "its command ends, too"
}

// result returns the result of x so far.
func (e *execs) result(ctx context.Context, x *run, r ContinueRequest) (ExecResult, error) {
	s := e.s
	ended := x.ended()
	res := ExecResult{ID: x.id, Lane: x.lane, Duration: time.Since(x.started)}
	e.deliver(ctx, x, &res, r)
	if x.typed != nil {
		res.cols = s.window.cols()
		res.Pages, res.Marked, res.Lines = x.typed.Pages(), x.typed.Marked(), x.lines.Load()
	}
	cause := context.Cause(x.ctx)
	res.TimedOut = errors.Is(cause, context.DeadlineExceeded)
	res.Canceled = errors.Is(cause, errExecCanceled)
	var err error
	if ended {
		res.Duration, res.Exit, err = x.duration, x.exit, x.err
	} else {
		// Until the far side says how it ended, it may still run.
		res.Exit.Killed = "unknown"
	}
	if ended && x.refused != nil {
		return ExecResult{}, x.refused
	}
	switch l := res.Lines; {
	case ended && l != nil && l.Stopped == paced.Canceled:
		res.Done, res.ExitReason, res.WaitingFor = DoneStopped, stopReason(true), x.typed.Standing()
	case res.TimedOut || res.Canceled:
		res.Done = DoneTimeout
		if !res.Exit.Known {
			res.ExitReason = stopReason(res.Canceled)
		}
		if ended && x.typed != nil {
			res.WaitingFor = x.typed.Standing()
		}
	case !ended && x.life.ctx.Err() == nil:
		res.Done, res.ExitReason, res.Exit.Killed = DoneRunning, "running", ""
		res.WaitingFor = cmp.Or(x.waitsFor(), x.waitsForValue())
		e.asks(x, res.WaitingFor)
		res.Remaining = x.deadline.Remaining()
	case ended && x.lane == LaneTerminal && !errors.Is(err, errRunPanicked):
		s.execs.typedResult(x, &res)
	case !ended || err != nil: // lost, with the session or by itself
		if !x.put() && !res.Exit.Started {
			s.execs.forget(x.id)
			return ExecResult{}, x.failure(err)
		}
		res.Done, res.ExitReason = DoneEOF, "connection_lost"
	case res.Exit.Known:
		res.Done = DoneExitStatus
	default:
		res.Done, res.ExitReason = DoneEOF, "no_status"
	}
	if ended && !r.Look {
		x.fetched.Store(true)
	}
	if r.Look {
		return res, nil
	}
	if ended && whole(res.Stdout, res.StdoutLines) && whole(res.Stderr, res.StderrLines) &&
		(res.Lines == nil || res.Lines.Omitted == 0) {
		switch {
		case x.handed.Load(): // a caller who knows the id may ask again, should this answer be lost
		case term.ActorFrom(ctx).Shim != "":
			s.execs.linger(x.id)
		default:
			s.execs.forget(x.id)
		}
		res.ID = ""
	} else {
		x.handed.Store(true)
	}
	return res, nil
}

// asks tells the observers of a question that a command asks in the terminal, once.
func (e *execs) asks(x *run, w *term.Waiting) {
	if w == nil {
		return
	}
	switch w.Kind {
	case prompt.Password, prompt.YesNo, prompt.HostKey, prompt.Login:
	default:
		return // a pager or an editor needs no person
	}
	question := w.Kind + " " + w.Text
	if old := x.told.asks.Swap(&question); old == nil || *old != question {
		e.s.auth.Observe(term.Event{Verb: term.VerbQuestion, Exec: x.id, Detail: "terminal " + w.Kind})
	}
}

// whole reports whether a result has all of a stream.
func whole(o Output, lines *Filtered) bool {
	if lines != nil {
		return o.Start == 0 && lines.Whole()
	}
	return o.Whole()
}

// deliver puts the output into a result for the caller, and remembers that the caller has had it.
func (e *execs) deliver(ctx context.Context, x *run, res *ExecResult, r ContinueRequest) {
	budget := r.MaxOutput
	if budget <= 0 {
		budget = x.wants.maxOutput
	}
	to := term.ActorFrom(ctx).Principal()
	x.mu.Lock()
	defer x.mu.Unlock()
	had, known := x.given[to]
	from := had
	if !r.New {
		from = delivered{}
	}
	if r.From != nil {
		from.stdout = *r.From
	}
	match := cmp.Or(r.Match, had.match, x.wants.match)
	res.Stdout, res.Stderr = x.stdout.Since(from.stdout, budget), x.stderr.Since(from.stderr, budget)
	next := delivered{stdout: res.Stdout.Next(), stderr: res.Stderr.Next()}
	if match != nil {
		f := *match
		f.Max = budget
		res.StdoutLines = e.filter(ctx, x, x.stdout, from.stdout, f)
		next.stdout = res.StdoutLines.Next
		if o := res.Stderr; o.Total-o.Start > shortStderr {
			res.StderrLines = e.filter(ctx, x, x.stderr, from.stderr, f)
			next.stderr = res.StderrLines.Next
		}
	}
	if known || len(x.given) < maxGiven {
		x.given[to] = delivered{
			stdout: max(had.stdout, next.stdout), stderr: max(had.stderr, next.stderr),
			match: cmp.Or(r.Match, had.match),
		}
	}
	res.ErrorHints = x.expect.hints(
		res.Stdout.FirstLine(), res.Stdout.Tail, res.Stderr.FirstLine(), res.Stderr.Tail,
	)
}

// shortStderr is how long a stderr is, in bytes, that is not filtered.
const shortStderr = 2000

// filter returns the lines of a stream that match, from an offset on, with all of the line that it is in.
func (e *execs) filter(ctx context.Context, x *run, st *output.Stream, from int64, f Filter) *Filtered {
	v := e.view(x, st)
	from = v.Whole(from, nil).Start
	more := !st.Buffer.Stat().Closed // before the bytes are taken: none follows then
	got := v.Filter(ctx, f, from, st.Held(from), more)
	return &got
}

// Clean returns the two ends of an output of the command as text for reading; if nothing was left out between them, all
// is in head. Of a command in the terminal it is clean text, as package vt defines it; of one beside it, the output
// without colours, as it is if it is not UTF-8.
func (r ExecResult) Clean(o Output) (head, tail []byte, removed Sanitized) {
	if r.Lane == LaneTerminal {
		return o.Clean(r.cols)
	}
	return o.WithoutSGR()
}

// stopReason names the reason for a command that was stopped: by a caller or by its deadline.
func stopReason(canceled bool) string {
	if canceled {
		return "canceled"
	}
	return "timeout"
}

// failure returns the reason why a command has no outcome: err is the Execer's error, nil if it has not returned.
func (x *run) failure(err error) error {
	if x.life.ctx.Err() != nil && !errors.Is(err, term.Internal) {
		return x.life.endedError("exec")
	}
	return x.life.transportError("exec", err)
}

// AwaitExec waits until a command has ended or, if asks, seems to wait for an answer. met is false if ctx ends first.
// Nothing counts as delivered: Session.ContinueExec has the result.
func (v SessionView) AwaitExec(ctx context.Context, id string, asks bool) (met bool, err error) {
	s := v.s
	x, err := s.execs.find("exec", id)
	if err != nil {
		return false, err
	}
	defer s.execs.letGo(x)
	x.deadline.Attend()
	defer x.deadline.Leave(false)
	reads := s.o.managed.limits.reads
	entered := false
	defer func() {
		if entered {
			reads.leave()
		}
	}()
	for {
		question, turned := x.waitsOn()
		if x.ended() || asks && question != nil && x.ctx.Err() == nil {
			return true, nil
		}
		if ctx.Err() != nil {
			return false, nil
		}
		// As for a read: only a wait takes a place.
		if !entered {
			if entered = reads.enter(); !entered {
				return false, s.TooManyReads()
			}
		}
		select {
		case <-turned:
		case <-x.done:
		case <-ctx.Done():
		}
	}
}

// Delivered returns how much of a command's stdout the caller's results have had, as an offset.
func (v SessionView) Delivered(ctx context.Context, id string) (int64, error) {
	x, err := v.s.execs.find("exec", id)
	if err != nil {
		return 0, err
	}
	defer v.s.execs.letGo(x)
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.given[term.ActorFrom(ctx).Principal()].stdout, nil
}
