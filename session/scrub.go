package session

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"ptyctl/term"
)

const (
	// echoWindow is how long after a write its echo may come.
	echoWindow = 5 * time.Second

	// echoHold is how long a byte is held back because it may belong to an echo.
	echoHold = 200 * time.Millisecond

	// typeAhead is how long a line end that was typed may take to come back.
	typeAhead = time.Second

	// maxSecrets and maxSecretLines bound what is looked for at a time. The pump waits while it is looked for.
	maxSecrets     = 256 << 10 // bytes
	maxSecretLines = 8 << 10
)

// A scrubber keeps the echo of what was written as a secret out of the buffer, and so out of everything that is made of
// the output. The pump hands it what comes while it is on; what may be the beginning of an echo is let go by a goroutine
// of its own, which lives as long as there is something to look for.
type scrubber struct {
	s    *Session
	on   atomic.Bool // there is something to look for, or something held back
	wake chan struct{}

	order sync.Mutex // held while output is passed on, so that it stays in order; locked before mu

	mu      sync.Mutex // guards the following
	f       secretFilter
	due     time.Time // when what is held back is let go; zero: nothing is
	kept    bool      // keep runs
	ends    int       // line ends typed at endedAt, or within typeAhead before another one: they may not have come back
	endedAt time.Time
	over    bool // the stream has ended
}

// An expectation is one write whose echo is looked for.
type expectation struct {
	c     *scrubber
	lines []*secret

	// Guarded by the scrubber's mutex:
	going bool      // bytes go out: line ends count
	until time.Time // zero: as long as the write is not over
}

// expect looks for the echo of data, which is about to be written, until forget is called or echoWindow after the write.
func (c *scrubber) expect(data []byte) (*expectation, error) {
	e := &expectation{c: c}
	e.lines = secretLines(data, e)
	if len(e.lines) == 0 {
		return nil, nil
	}
	size := 0
	for _, l := range e.lines {
		size += len(l.text)
	}
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return nil, nil
	}
	if c.f.size+size > maxSecrets || len(c.f.secrets)+len(e.lines) > maxSecretLines {
		c.mu.Unlock()
		return nil, &term.Error{
			Op:      "write",
			Session: c.s.id,
			Kind:    term.LimitExceeded,
			Msg: fmt.Sprintf(
				"the echo of more than %d bytes or %d lines of secrets within %s could not be kept out of the output, so nothing was written; wait, write less at a time, or do not mark as sensitive what is no secret",
				maxSecrets,
				maxSecretLines,
				echoWindow,
			),
		}
	}
	if time.Since(c.endedAt) < typeAhead {
		for _, l := range e.lines { // the echoes of what was typed before come first
			l.line += c.ends
		}
	}
	c.f.add(e.lines)
	c.on.Store(true)
	begin := !c.kept
	c.kept = true
	c.mu.Unlock()
	if begin && !c.s.spawn("scrub", c.keep) {
		c.mu.Lock()
		c.kept = false
		c.mu.Unlock()
	}
	return e, nil
}

// typed counts the line ends in what is about to be written.
func (c *scrubber) typed(p []byte) {
	n := bytes.Count(p, []byte("\r"))
	if n == 0 {
		n = bytes.Count(p, []byte("\n"))
	}
	if n == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.endedAt) >= typeAhead {
		c.ends = 0
	}
	c.ends, c.endedAt = c.ends+n, time.Now()
}

// start says that the bytes go out now. A nil expectation expects nothing.
func (e *expectation) start() { e.update(func() { e.going = true }) }

// done says that the bytes are out.
func (e *expectation) done() { e.update(func() { e.until = time.Now().Add(echoWindow) }) }

// forget says that nothing went out.
func (e *expectation) forget() { e.update(func() { e.until = time.Now() }) }

func (e *expectation) update(change func()) {
	if e == nil {
		return
	}
	e.c.mu.Lock()
	change()
	e.c.mu.Unlock()
	e.c.poke()
}

// poke makes keep look again at what it waits for.
func (c *scrubber) poke() {
	select {
	case c.wake <- struct{}{}:
	default: // it will
	}
}

// feed passes on p, which the far side has sent, except for what is an echo or may become one. It wipes p then.
func (c *scrubber) feed(p []byte) {
	if !c.on.Load() {
		c.s.accept(p)
		return
	}
	c.pass(func(out []byte) []byte {
		out = c.f.feed(out, p)
		switch waiting := c.f.waiting(); {
		case waiting == 0:
			c.due = time.Time{}
		case c.due.IsZero() || waiting <= len(p): // all of it has just come
			c.due = time.Now().Add(echoHold)
			c.poke()
		}
		clear(p)
		return out
	})
}

// pass passes on what step appends, in order. step runs with c.mu held.
func (c *scrubber) pass(step func(out []byte) []byte) {
	c.order.Lock()
	defer c.order.Unlock()
	if out := c.locked(step); len(out) > 0 {
		c.s.accept(out)
	}
	c.locked(func([]byte) []byte {
		c.on.Store(len(c.f.secrets) > 0 || len(c.f.held) > 0) // not before: the pump does not wait for us then
		return nil
	})
}

func (c *scrubber) locked(step func(out []byte) []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return step(nil)
}

// keep lets go of what was held back for long enough, and forgets secrets whose time is over. It ends when there is
// nothing left to wait for, or with the stream.
func (c *scrubber) keep() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-c.wake:
		}
		var next time.Time
		kept := true
		c.pass(func(out []byte) []byte {
			now := time.Now()
			if !c.due.IsZero() && !now.Before(c.due) {
				out = c.f.release(out)
				c.due = time.Time{}
			}
			c.f.drop(func(s *secret) bool { return !s.of.until.IsZero() && !now.Before(s.of.until) })
			if out = c.f.settle(out); c.f.waiting() == 0 {
				c.due = time.Time{}
			}
			next = c.nextLocked()
			kept = !c.over && (len(c.f.secrets) > 0 || len(c.f.held) > 0)
			c.kept = kept
			return out
		})
		if !kept {
			return
		}
		timer.Stop()
		if !next.IsZero() {
			timer.Reset(time.Until(next))
		}
	}
}

// nextLocked returns when keep has to look again by itself; zero: never. Requires c.mu.
func (c *scrubber) nextLocked() time.Time {
	next := c.due
	for _, s := range c.f.secrets {
		if u := s.of.until; !u.IsZero() && (next.IsZero() || u.Before(next)) {
			next = u
		}
	}
	return next
}

// end passes on what is held back, and forgets all secrets: the stream has ended.
func (c *scrubber) end() {
	c.pass(func(out []byte) []byte {
		out = c.f.release(out)
		c.f.drop(func(*secret) bool { return true })
		c.f.cut(len(c.f.held))
		c.over = true
		return out
	})
	c.poke()
}
