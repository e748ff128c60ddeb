package lane

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ptyctl/internal/inorder"
	"ptyctl/session/prompt"
	"ptyctl/term"
)

// A turn is one call's place in the queue for the terminal, which runs one command at a time.
type turn struct {
	until time.Time // the call waits no longer
}

// lineUp takes the last turn, for a call that waits at most limit for it. It keeps others out until the call leaves.
func (l *Lane) lineUp(limit time.Duration) *turn {
	p := &turn{until: time.Now().Add(limit)}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, p)
	return p
}

// awaitTurn waits until p is the first turn and the terminal is free, or its command gives way.
func (l *Lane) awaitTurn(ctx context.Context, p *turn) error {
	timer := time.NewTimer(time.Until(p.until))
	defer timer.Stop()
	for {
		l.mu.Lock()
		before := slices.Index(l.queue, p)
		running, reserved, changed := l.current, l.reserved, l.changed
		l.mu.Unlock()
		var turned <-chan struct{}
		if before == 0 && !reserved {
			if running == nil {
				return nil
			}
			var w *term.Waiting
			if w, turned = running.Waiting(); givesWay(w) {
				return nil
			}
		}
		if !reserved {
			inorder.Pass(ctx) // a later input may be for the command that runs
		}
		select {
		case <-changed:
		case <-turned:
		case <-timer.C:
			e := &term.Error{
				Op:      "exec",
				Session: l.session,
				Kind:    term.ExecTimeout,
				Reason:  term.ReasonNotFree,
				Msg:     fmt.Sprintf("the terminal did not become free in time (%d queued before this one", before),
				Advice:  "call again to go on waiting" + l.beside(", or use LaneChannel"),
				Facts:   term.Facts{term.Occupied{Channel: l.t.HasChannel()}},
			}
			if running != nil {
				w, _ := running.Waiting()
				e.Msg += ", exec " + running.id + " is running"
				e.Facts = term.Facts{term.Occupied{Waiting: w, Exec: running.id, Channel: l.t.HasChannel()}}
			}
			e.Msg += "), so nothing was typed"
			return e
		case <-ctx.Done():
			return l.notTyped(ctx)
		case <-l.t.Context().Done():
			return l.t.Closed("exec")
		}
	}
}

// leave gives p up, and lets the next one check for its turn. A nil p does nothing.
func (l *Lane) leave(p *turn) {
	if p == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = slices.DeleteFunc(l.queue, func(o *turn) bool { return o == p })
	l.wake()
}

// claim makes c the one command in the terminal. An earlier command gives way if its shell shows the prompt again
// without a marker.
func (l *Lane) claim(ctx context.Context, c *Command) error {
	p := c.turn
	for {
		l.mu.Lock()
		other, reserved, changed := l.current, l.reserved, l.changed
		queued := len(l.queue) > 0 && l.queue[0] != p
		if other == nil && !queued && !reserved {
			l.current = c
			l.mu.Unlock()
			return nil
		}
		l.mu.Unlock()
		switch {
		case reserved && p != nil:
			if err := l.awaitTurn(ctx, p); err != nil {
				return err
			}
			continue
		case reserved:
			return &term.Error{
				Op:      "exec",
				Session: l.session,
				Kind:    term.Busy,
				Reason:  term.ReasonSteps,
				Msg:     "another call is typing steps or lines into this terminal",
				Advice:  "queue this command with ExecRequest.Queue" + l.beside(", or use LaneChannel"),
				Facts:   term.Facts{term.Occupied{Channel: l.t.HasChannel()}},
			}
		}
		if queued {
			return &term.Error{
				Op:      "exec",
				Session: l.session,
				Kind:    term.Busy,
				Reason:  term.ReasonQueued,
				Msg:     "other commands are queued for this terminal",
				Advice:  "queue this one with ExecRequest.Queue" + l.beside(", or use LaneChannel"),
				Facts:   term.Facts{term.Occupied{Channel: l.t.HasChannel()}},
			}
		}
		w, _ := other.Waiting()
		if !givesWay(w) && p != nil { // any more: it was no prompt
			if err := l.awaitTurn(ctx, p); err != nil {
				return err
			}
			continue
		}
		if !givesWay(w) {
			return &term.Error{
				Op: "exec", Session: l.session, Kind: term.Busy, Reason: term.ReasonRunning,
				Msg: fmt.Sprintf("a command is running in this terminal (exec %s)", other.id),
				Advice: "wait for it with Session.ContinueExec, stop it with Session.CancelExec, " +
					"or queue this one with ExecRequest.Queue" + l.beside(", or use LaneChannel"),
				Facts: term.Facts{term.Occupied{Waiting: w, Exec: other.id, Channel: l.t.HasChannel()}},
			}
		}
		other.yield.Do(func() { close(other.yielded) })
		select {
		case <-changed:
		case <-ctx.Done():
			return l.notTyped(ctx)
		case <-l.t.Context().Done():
			return l.t.Closed("exec")
		}
	}
}

// Reserve keeps commands from beginning until the caller releases the terminal. It waits for others who have reserved
// it, and for a command that is about to be typed; one that runs goes on. It reports false if ctx ended first.
func (l *Lane) Reserve(ctx context.Context) (release func(), ok bool) {
	for {
		l.mu.Lock()
		if !l.reserved && (l.current == nil || l.current.sent) {
			l.reserved = true
			l.mu.Unlock()
			return l.unreserve, true
		}
		changed := l.changed
		l.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, false
		case <-l.t.Context().Done():
			return nil, false
		}
	}
}

// unreserve undoes Reserve.
func (l *Lane) unreserve() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reserved = false
	l.wake()
}

// givesWay reports whether a command that waits for w lets the next one have the terminal.
func givesWay(w *term.Waiting) bool { return w != nil && w.Kind == prompt.Command }

// notTyped is the error of a call that was canceled in time.
func (l *Lane) notTyped(ctx context.Context) error {
	return &term.Error{
		Op:      "exec",
		Session: l.session,
		Kind:    term.Canceled,
		Msg:     "canceled before anything was typed",
		Err:     ctx.Err(),
	}
}

// wake wakes the calls that wait for the terminal. Requires l.mu.
func (l *Lane) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}
