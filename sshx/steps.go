package sshx

import (
	"errors"
	"sync"
	"time"

	"ptyctl/sshx/reach"
	"ptyctl/term"
)

// The names of the steps of a connection after dns and tcp, in order.
const (
	stepBanner  = "banner" // identification strings (RFC 4253 section 4.2)
	stepKex     = "kex"
	stepHostKey = "hostkey"
	stepAuth    = "auth"
	stepChannel = "channel"
)

// steps records the steps of a connection over all its hops.
type steps struct {
	mu    sync.Mutex // guards the following
	hops  []term.Hop
	open  string    // the current step on the last hop; empty for none
	since time.Time // the start of that step
}

// hop starts the next host.
func (l *steps) hop(host string, port int, user string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hops = append(l.hops, term.Hop{Host: host, Port: port, User: user})
	l.open = ""
}

// Address records the address at which the last hop was reached.
func (l *steps) Address(addr string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hops[len(l.hops)-1].Address = addr
}

// Begin starts a step, and marks the one before as successful.
func (l *steps) Begin(step string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// A step may be entered again, for example a second TCP attempt: it stays one step.
	if l.open != step {
		l.endLocked(true, "")
		l.open, l.since = step, time.Now()
	}
}

// end records the result of the current step.
func (l *steps) end(ok bool, detail string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endLocked(ok, detail)
}

// endLocked is end for a caller that holds l.mu.
func (l *steps) endLocked(ok bool, detail string) {
	if l.open == "" {
		return
	}
	h := &l.hops[len(l.hops)-1]
	h.Steps = append(
		h.Steps,
		term.Step{Name: l.open, OK: ok, DurationMS: time.Since(l.since).Milliseconds(), Detail: detail},
	)
	l.open = ""
}

// note adds a detail to a step of the last hop that succeeded.
func (l *steps) note(step, detail string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.lastLocked(step); s != nil && s.OK {
		s.Detail = detail
	}
}

// commandEnded marks the step of a ProxyCommand, which counted as successful when the program had started, as the one
// that failed. Without an identification string nothing has come through the program: there is no step banner then.
func (l *steps) commandEnded(detail string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.lastLocked(reach.StepProxy)
	if s == nil {
		return
	}
	s.OK, s.Detail = false, detail
	if l.open == stepBanner {
		l.open = ""
		s.DurationMS += time.Since(l.since).Milliseconds()
	}
}

// lastLocked returns the last ended step of that name on the last hop, or nil. The caller must hold l.mu.
func (l *steps) lastLocked(step string) *term.Step {
	steps := l.hops[len(l.hops)-1].Steps
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i].Name == step {
			return &steps[i]
		}
	}
	return nil
}

// detailOf returns the detail of a step of h.
func detailOf(h term.Hop, step string) (detail string) {
	for _, s := range h.Steps {
		if s.Name == step {
			detail = s.Detail
		}
	}
	return detail
}

// at returns the current step.
func (l *steps) at() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

// snapshot returns a copy of the hops and their steps.
func (l *steps) snapshot() []term.Hop {
	l.mu.Lock()
	defer l.mu.Unlock()
	hops := make([]term.Hop, len(l.hops))
	for i, h := range l.hops {
		h.Steps = append([]term.Step(nil), h.Steps...)
		hops[i] = h
	}
	return hops
}

// reached records a shared connection, made by another session.
func (l *steps) reached() {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := &l.hops[len(l.hops)-1]
	if l.endLocked(true, ""); len(h.Steps) == 0 {
		h.Steps = []term.Step{{Name: reach.StepTCP, OK: true, Detail: "a connection that is shared"}}
	}
}

// stepDetail returns the detail of a failed step. An error with a message of its
// own needs none.
func stepDetail(err error) string {
	if program, ok := errors.AsType[*reach.CommandEnded](err); ok {
		return program.State
	}
	if errors.As(err, new(*term.Error)) {
		return ""
	}
	return term.ForeignError(term.RootCause(err)).Error()
}
