package hosts

import (
	"context"
	"time"

	"ptyctl/session"
	"ptyctl/term"
)

// An opening is a session that calls open together. The first of them makes the session; each waits for itself.
type opening struct {
	made    chan struct{}    // closed when session or err is set, and by the end of the call that would set them
	session *session.Session // nil: it could not be made
	err     error

	waiting int  // calls that wait; guarded by Hosts.mu
	known   bool // a caller has the session's id; guarded by Hosts.mu
}

// settled reports whether there is nothing left to wait for.
func (o *opening) settled() bool {
	select {
	case <-o.made:
	default:
		return false
	}
	return o.session == nil || o.session.State() == session.Open || o.session.State().Ended()
}

// wait waits until the session of an opening is open, asks a question, or has failed.
func (h *Hosts) wait(ctx context.Context, at place, o *opening, first bool, r Request) (res Result, err error) {
	defer func() { h.leave(ctx, at, o, res.Session != nil) }()
	began := time.Now()
	if first {
		h.begin(ctx, o, r.Target)
	} else if err := await(ctx, o.made, r.Wait); err != nil {
		return Result{}, err
	}
	if o.session == nil {
		return Result{}, o.err
	}
	// As one that another call has opened: if this call gives up, others may still wait.
	res = Result{OpenResult: session.OpenResult{Session: o.session, Existing: true}, Joined: !first}
	left := time.Duration(1<<63 - 1)
	if r.Wait > 0 {
		left = r.Wait - time.Since(began)
	}
	next, err := res.Again(ctx, left)
	if err != nil {
		return Result{}, err
	}
	res.OpenResult = next
	return res, nil
}

// begin makes the session of an opening, in the name of the call that came first. It does not wait for the session,
// which goes on if that call gives up and others wait.
func (h *Hosts) begin(ctx context.Context, o *opening, t term.Target) {
	o.err = &term.Error{Op: "open", Kind: term.Internal, Msg: "a fault in ptyctl; report the log"} // if Open panics
	defer close(o.made)
	t.CommandsOnly = true
	res, err := h.o.Manager.Open(context.WithoutCancel(ctx), session.OpenRequest{
		Target: t, IdleTimeout: h.o.Idle, Auto: true, Wait: 1,
	})
	o.session, o.err = res.Session, err
}

// await waits until an opening has its session, at most for limit, if that is not 0.
func await(ctx context.Context, made <-chan struct{}, limit time.Duration) error {
	if limit > 0 {
		waiting, stop := context.WithTimeout(ctx, limit)
		defer stop()
		select {
		case <-made:
			return nil
		case <-waiting.Done():
		}
		if ctx.Err() == nil {
			return &term.Error{Op: "open", Kind: term.Busy, Msg: "another call is just opening a session there; try again"}
		}
	}
	select {
	case <-made:
		return nil
	case <-ctx.Done():
	}
	return &term.Error{
		Op: "open", Kind: term.Canceled, Err: ctx.Err(),
		Msg: term.CanceledMsg(ctx, "canceled before the session was opened; nothing was run"),
	}
}

// leave ends a call's wait. The last one closes the session if it is not open and no caller has its id: no caller
// could answer its questions or close it.
func (h *Hosts) leave(ctx context.Context, at place, o *opening, known bool) {
	h.mu.Lock()
	o.waiting--
	o.known = o.known || known
	settled := o.settled()
	abandoned := o.waiting == 0 && !o.known && !settled
	if h.opening[at] == o && (settled || abandoned) {
		delete(h.opening, at)
	}
	h.mu.Unlock()
	if abandoned && o.session != nil {
		o.session.Close(context.WithoutCancel(ctx), session.CloseOptions{Force: true})
	}
}
