package redact

import (
	"bytes"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// Window is how long after a write its echo may come.
	Window = 5 * time.Second

	// echoHold is how long a byte is held back because it may belong to an echo.
	echoHold = 200 * time.Millisecond

	// typeAhead is how long a line end that was typed may take to come back.
	typeAhead = time.Second

	// MaxBytes bounds the text searched for at a time. The writer of the stream waits during the search.
	MaxBytes = 256 << 10
	// MaxLines bounds the lines of that text.
	MaxLines = 8 << 10
)

// ErrTooMany says that more secrets are out than are looked for at a time.
var ErrTooMany = errors.New("too many secrets at a time")

// A Stream passes on the bytes written to it, with Mask in place of the echo of a secret. Bytes that may be the
// beginning of an echo wait for a moment; a goroutine releases them, and lives as long as the stream expects an echo.
// Make it with New.
type Stream struct {
	accept func(p []byte, echoes []Echo) // takes the bytes passed on, in order
	spawn  func(keep func()) bool        // runs a goroutine, or reports false once none may start
	on     atomic.Bool                   // there is something to look for, or something held back
	wake   chan struct{}

	order sync.Mutex // held while output is passed on, so that it stays in order; locked before mu

	mu      sync.Mutex // guards the following
	f       filter
	due     time.Time // when the stream passes on the bytes it holds back; zero: it holds none
	kept    bool      // keep runs
	ends    int       // line ends typed at endedAt, or within typeAhead before another one: they may not have come back
	endedAt time.Time
	over    bool // the stream has ended
}

// An Echo is a part of the output that shows a secret. From and To are the part of the bytes passed on that took its
// place: a Mask, or nothing for the rest of an echo if its first part was already passed on as a Mask.
type Echo struct {
	From, To int
	Text     []byte // the text that the far side sent

	escape bool // the secret may hold ESC, so that text after an ESC is no sequence of the terminal
}

// New makes a stream. accept takes the output, one call at a time, and the echoes that were taken out of it, which are
// wiped when it returns; spawn runs a function in a goroutine, and reports false if none may start any more.
func New(accept func(p []byte, echoes []Echo), spawn func(f func()) bool) *Stream {
	return &Stream{accept: accept, spawn: spawn, wake: make(chan struct{}, 1)}
}

// An Expectation is one write, with an echo that the stream looks for. A nil *Expectation expects nothing.
type Expectation struct {
	c     *Stream
	lines []*secret

	// Guarded by the stream's mu:
	going bool      // bytes go out: line ends count
	until time.Time // zero: as long as the write is not over
}

// Expect looks for the echo of data, which is about to be written, until Canceled or until Window after Sent. The error
// is ErrTooMany. The Expectation is nil if data holds nothing but control characters.
func (c *Stream) Expect(data []byte) (*Expectation, error) {
	e := &Expectation{c: c}
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
	if c.f.size+size > MaxBytes || len(c.f.secrets)+len(e.lines) > MaxLines {
		c.mu.Unlock()
		return nil, ErrTooMany
	}
	if time.Since(c.endedAt) < typeAhead {
		for _, l := range e.lines { // the echoes of earlier input come first
			l.line += c.ends
		}
	}
	c.f.add(e.lines)
	c.on.Store(true)
	begin := !c.kept
	c.kept = true
	c.mu.Unlock()
	if begin && !c.spawn(c.keep) {
		c.mu.Lock()
		c.kept = false
		c.mu.Unlock()
	}
	return e, nil
}

// Typed counts the line ends in p, secret or not, which is about to be written.
func (c *Stream) Typed(p []byte) {
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

// Sending says that the bytes go out now.
func (e *Expectation) Sending() { e.update(func() { e.going = true }) }

// Sent says that the bytes are out.
func (e *Expectation) Sent() { e.update(func() { e.until = time.Now().Add(Window) }) }

// Canceled says that nothing went out.
func (e *Expectation) Canceled() { e.update(func() { e.until = time.Now() }) }

func (e *Expectation) update(change func()) {
	if e == nil {
		return
	}
	e.c.mu.Lock()
	change()
	e.c.mu.Unlock()
	e.c.poke()
}

// poke makes keep check its conditions again.
func (c *Stream) poke() {
	select {
	case c.wake <- struct{}{}:
	default: // it will
	}
}

// Write passes on p, which the far side has sent, except for an echo or the beginning of one, and then wipes p.
func (c *Stream) Write(p []byte) {
	if !c.on.Load() {
		c.accept(p, nil)
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

// pass passes on the bytes that step appends, in order. step runs with c.mu held.
func (c *Stream) pass(step func(out []byte) []byte) {
	c.order.Lock()
	defer c.order.Unlock()
	var echoes []Echo
	out := c.locked(func(out []byte) []byte {
		out = step(out)
		echoes, c.f.echoes = c.f.echoes, nil
		return out
	})
	if len(out)+len(echoes) > 0 {
		c.accept(out, echoes)
	}
	for _, e := range echoes {
		clear(e.Text)
	}
	c.locked(func([]byte) []byte {
		c.on.Store(len(c.f.secrets) > 0 || len(c.f.held) > 0) // not before: the pump does not wait for us then
		return nil
	})
}

func (c *Stream) locked(step func(out []byte) []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return step(nil)
}

// keep passes on bytes that were held back for long enough, and forgets secrets at the end of their time. It ends when
// it has nothing left to wait for, or with the stream.
func (c *Stream) keep() {
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
func (c *Stream) nextLocked() time.Time {
	next := c.due
	for _, s := range c.f.secrets {
		if u := s.of.until; !u.IsZero() && (next.IsZero() || u.Before(next)) {
			next = u
		}
	}
	return next
}

// End passes on the bytes that the stream holds back, and forgets all secrets.
func (c *Stream) End() {
	c.pass(func(out []byte) []byte {
		out = c.f.release(out)
		c.f.drop(func(*secret) bool { return true })
		c.f.cut(len(c.f.held))
		c.over = true
		return out
	})
	c.poke()
}
