package session

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ptyctl/session/prompt"
	"ptyctl/term"
)

// A place is one call's place in the queue for the terminal, which runs one command at a time.
type place struct {
	until time.Time // the call waits no longer
}

// lineUp takes the last place, for a call that waits at most limit for its turn. It keeps others out until it is left.
func (s *Session) lineUp(limit time.Duration) *place {
	p := &place{until: time.Now().Add(limit)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, p)
	return p
}

// awaitTurn waits until p is the first place and the terminal is free, or its command gives way.
func (s *Session) awaitTurn(ctx context.Context, p *place) error {
	timer := time.NewTimer(time.Until(p.until))
	defer timer.Stop()
	for {
		s.mu.Lock()
		before := slices.Index(s.queue, p)
		running, changed := s.typing, s.changed
		s.mu.Unlock()
		var turned <-chan struct{}
		if before == 0 {
			if running == nil {
				return nil
			}
			var w *term.Waiting
			if w, turned = running.waitsOn(); givesWay(w) {
				return nil
			}
		}
		select {
		case <-changed:
		case <-turned:
		case <-timer.C:
			e := &term.Error{
				Op:      "exec",
				Session: s.id,
				Kind:    term.ExecTimeout,
				Reason:  term.ReasonNotFree,
				Msg:     fmt.Sprintf("the terminal did not become free in time (%d queued before this one", before),
				Advice:  "call again to go on waiting" + s.beside(", or use LaneChannel"),
				Details: &term.Details{Channel: s.hasChannel()},
			}
			if running != nil {
				w, _ := running.waitsOn()
				e.Msg += ", exec " + running.id + " is running"
				e.Details.WaitingFor, e.Details.Exec = w, running.id
			}
			e.Msg += "), so nothing was typed"
			return e
		case <-ctx.Done():
			return s.notTyped(ctx)
		case <-s.ctx.Done():
			return s.endedError("exec")
		}
	}
}

// leave gives p up, and lets the next one see whether it is first.
func (s *Session) leave(p *place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = slices.DeleteFunc(s.queue, func(o *place) bool { return o == p })
	s.wakeLocked()
}

// claimTerminal makes x the one command in the terminal. A command before it whose shell shows its prompt again,
// though no marker came, gives way. p is x's place if it has queued.
func (s *Session) claimTerminal(ctx context.Context, x *run, p *place) error {
	for {
		s.mu.Lock()
		other, changed := s.typing, s.changed
		queued := len(s.queue) > 0 && s.queue[0] != p
		if other == nil && !queued {
			s.typing = x
			s.mu.Unlock()
			return nil
		}
		s.mu.Unlock()
		if queued {
			return &term.Error{
				Op:      "exec",
				Session: s.id,
				Kind:    term.Busy,
				Reason:  term.ReasonQueued,
				Msg:     "other commands are queued for this terminal",
				Advice:  "queue this one with ExecRequest.Queue" + s.beside(", or use LaneChannel"),
				Details: &term.Details{Channel: s.hasChannel()},
			}
		}
		w, _ := other.waitsOn()
		if !givesWay(w) && p != nil { // any more: it was no prompt
			if err := s.awaitTurn(ctx, p); err != nil {
				return err
			}
			continue
		}
		if !givesWay(w) {
			return &term.Error{
				Op: "exec", Session: s.id, Kind: term.Busy, Reason: term.ReasonRunning,
				Msg: fmt.Sprintf("a command is running in this terminal (exec %s)", other.id),
				Advice: "wait for it with Session.ContinueExec, stop it with Session.CancelExec, " +
					"or queue this one with ExecRequest.Queue" + s.beside(", or use LaneChannel"),
				Details: &term.Details{WaitingFor: w, Exec: other.id, Channel: s.hasChannel()},
			}
		}
		other.yield.Do(func() { close(other.yielded) })
		select {
		case <-changed:
		case <-ctx.Done():
			return s.notTyped(ctx)
		case <-s.ctx.Done():
			return s.endedError("exec")
		}
	}
}

// givesWay reports whether a command that waits for w lets the next one have the terminal.
func givesWay(w *term.Waiting) bool { return w != nil && w.Kind == prompt.Command }

// notTyped is the error of a call that was canceled in time.
func (s *Session) notTyped(ctx context.Context) error {
	return &term.Error{
		Op:      "exec",
		Session: s.id,
		Kind:    term.Canceled,
		Msg:     "canceled before anything was typed",
		Err:     ctx.Err(),
	}
}

// releaseTerminal lets the next command have the terminal.
func (s *Session) releaseTerminal(x *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.typing == x {
		s.typing = nil
		s.wakeLocked()
	}
}
