package sshx

import (
	"sync"
	"time"

	"ptyctl/term"
)

// The rungs of the ladder, in the order in which they are climbed.
const (
	stepDNS     = "dns"
	stepTCP     = "tcp"
	stepBanner  = "banner" // identification strings (RFC 4253 section 4.2)
	stepKex     = "kex"
	stepHostKey = "hostkey"
	stepAuth    = "auth"
	stepChannel = "channel"
)

// A ladder records how far a connection came, over all its hops.
type ladder struct {
	mu    sync.Mutex // guards the following
	hops  []term.Hop
	open  string    // the rung being climbed on the last hop; empty: none
	since time.Time // when it was begun
}

// hop begins the next host.
func (l *ladder) hop(host string, port int, user string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hops = append(l.hops, term.Hop{Host: host, Port: port, User: user})
	l.open = ""
}

// address notes where the last hop was reached.
func (l *ladder) address(addr string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hops[len(l.hops)-1].Address = addr
}

// begin starts a rung, and with it ends the one before as climbed.
func (l *ladder) begin(step string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open != step {
		l.endLocked(true, "")
		l.open, l.since = step, time.Now()
	}
}

// end closes the rung being climbed.
func (l *ladder) end(ok bool, detail string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endLocked(ok, detail)
}

// endLocked requires l.mu.
func (l *ladder) endLocked(ok bool, detail string) {
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

// at returns the rung being climbed.
func (l *ladder) at() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

// snapshot returns a copy of what is recorded.
func (l *ladder) snapshot() []term.Hop {
	l.mu.Lock()
	defer l.mu.Unlock()
	hops := make([]term.Hop, len(l.hops))
	for i, h := range l.hops {
		h.Steps = append([]term.Step(nil), h.Steps...)
		hops[i] = h
	}
	return hops
}

// reached notes a connection that others made, and that is shared.
func (l *ladder) reached(k *link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := &l.hops[len(l.hops)-1]
	if l.endLocked(true, ""); len(h.Steps) == 0 {
		h.Steps = []term.Step{{Name: stepTCP, OK: true, Detail: "a connection that is shared"}}
	}
}
