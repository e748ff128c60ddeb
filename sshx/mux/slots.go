package mux

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"ptyctl/term"
)

const (
	// slotWait is how long a command waits for one of our channels to become free
	// before it asks for another connection.
	slotWait = 2 * time.Second

	// refusalLasts is how long a refusal counts. A server may count a channel a
	// moment longer than we do, and a command that outlived its channel as long
	// as it runs.
	refusalLasts = 250 * time.Millisecond
)

// Slots hands out session channels for commands. A server limits them per
// connection (sshd_config(5) MaxSessions, 10). The sources are, in this order:
// the channel opened ahead, a new channel on an existing connection, a channel
// that becomes free, a channel on another connection.
type Slots struct {
	// Env is offered to the server for each command, like SetEnv and SendEnv of ssh(1): a variable
	// that it does not accept is left out. It must be set before the first command.
	Env []term.EnvVar

	dial  func(context.Context) (*Link, error) // makes another connection; nil if none is allowed
	limit int                                  // most connections, including the first

	mu      sync.Mutex // guards the following
	conns   []*carrier // the caller's own first
	dialing bool       // another connection is being made
	ahead   *Channel
	opening bool          // the channel ahead is being opened
	timer   *alarm        // of ahead
	changed chan struct{} // closed and replaced when a slot or a connection becomes free
	ended   int           // number of commands that have ended
	over    bool
}

// A carrier is a connection and the number of its commands.
type carrier struct {
	k       *Link
	used    int
	max     int       // most simultaneous commands that the server allows; -1 if unknown
	refused time.Time // time of the last refusal; zero after a success
}

// mayOpen reports whether the server is likely to open another channel. The
// caller must hold the slots' mutex.
func (c *carrier) mayOpen() bool {
	return c.max < 0 || c.used < c.max || time.Since(c.refused) >= refusalLasts
}

// NewSlots returns slots on the connection k, with at most limit connections made
// by dial.
func NewSlots(k *Link, limit int, dial func(context.Context) (*Link, error)) *Slots {
	return &Slots{dial: dial, limit: limit, conns: []*carrier{{k: k, max: -1}}, changed: make(chan struct{})}
}

// take returns a channel for one command. Its slot becomes free when the channel
// is closed.
func (s *Slots) take(ctx context.Context) (*Channel, error) {
	patience := time.NewTimer(slotWait)
	defer patience.Stop()
	var impatient bool
	var failed error // error of the last attempt to make another connection
	// If no command is running, a command that just ended may still count: try
	// twice more.
	lingers, until := -1, time.Time{}
	for {
		if ch := s.TakeAhead(); ch != nil {
			return ch, nil
		}
		c, changed, busy, ended := s.pick()
		switch {
		case c != nil:
			ch, err := s.open(ctx, c)
			if err == nil || !errors.As(err, new(RefusedError)) {
				return ch, err
			}
			continue
		// One of our commands will end and free its slot: wait for it, unless the
		// wait is long and another connection is still possible.
		case busy && (!impatient || failed != nil):
		default:
			more, err := s.grow(ctx)
			if more {
				continue
			}
			failed = err
			if !busy && lingers == ended && !time.Now().Before(until) {
				return nil, s.full(failed)
			}
		}
		var linger <-chan time.Time
		if !busy {
			if lingers != ended {
				lingers, until = ended, time.Now().Add(2*refusalLasts)
			}
			linger = time.After(refusalLasts)
		}
		select {
		case <-changed:
		case <-linger:
		case <-patience.C:
			impatient = true
		case <-ctx.Done():
			return nil, s.full(context.Cause(ctx))
		}
	}
}

// pick reserves a slot on a connection that may have one, first on those that
// have not refused; nil without a free slot. busy means that changed will be
// closed.
func (s *Slots) pick() (c *carrier, changed <-chan struct{}, busy bool, ended int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// The first connection stays even when it is lost: its error explains the
	// failure.
	s.conns = append(s.conns[:1], slices.DeleteFunc(s.conns[1:], func(c *carrier) bool { return c.k.Lost() != nil })...)
	for _, doubtful := range []bool{false, true} {
		for _, c := range s.conns {
			if doubtful != c.refused.IsZero() && c.mayOpen() {
				if c.max >= 0 && c.used >= c.max {
					c.refused = time.Now() // one attempt shows whether there is room
				}
				c.used++
				return c, nil, false, s.ended
			}
			busy = busy || c.used > 0
		}
	}
	return nil, s.changed, busy || s.dialing, s.ended
}

// open opens a channel in a slot reserved on c.
func (s *Slots) open(ctx context.Context, c *carrier) (*Channel, error) {
	ch, err := c.k.OpenSession(ctx, func() { s.free(c) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		c.used--
		// The refusal shows the server's limit: the number of commands before
		// this one.
		if errors.As(err, new(RefusedError)) {
			c.refused, c.max = time.Now(), c.used
		}
		s.change()
		return nil, err
	}
	c.refused = time.Time{}
	if c.max >= 0 && c.used > c.max {
		c.max = c.used
	}
	return ch, nil
}

// free releases the slot of a command that has ended.
func (s *Slots) free(c *carrier) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.used--
	s.ended++
	s.change()
}

// change wakes the callers that wait for a slot. The caller must hold s.mu.
func (s *Slots) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// grow makes another connection if that is allowed, one at a time.
func (s *Slots) grow(ctx context.Context) (bool, error) {
	s.mu.Lock()
	may := s.dial != nil && len(s.conns) < s.limit && !s.dialing && !s.over
	s.dialing = s.dialing || may
	s.mu.Unlock()
	if !may {
		return false, nil
	}
	// Dialing without the lock: commands on existing connections must not wait
	// for it.
	k, err := s.dial(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dialing = false
	s.change()
	if err != nil {
		return false, err
	}
	s.conns = append(s.conns, &carrier{k: k, max: -1})
	if s.over { // close ran before this connection existed; wait includes it
		k.Close()
	}
	return !s.over, nil
}

// full returns the error for a command that gets no channel.
func (s *Slots) full(cause error) error {
	s.mu.Lock()
	k := s.conns[0].k
	s.mu.Unlock()
	var own *term.Error
	switch {
	case k.Lost() != nil:
		return k.Lost()
	case errors.As(cause, &own) && own.Kind == term.RemoteClosed:
		return own
	case errors.Is(cause, context.Canceled):
		return &term.Error{
			Kind: term.Canceled,
			Err:  cause,
			Msg:  "canceled while waiting for a channel to run the command on",
		}
	}
	msg := fmt.Sprintf(
		"%s opens no further channel for a command (MaxSessions in its sshd_config), "+
			"and another connection failed",
		k.Name,
	)
	if cause != nil {
		msg += ": " + cause.Error()
	}
	return &term.Error{
		Kind: term.LimitExceeded,
		Err:  cause,
		Msg:  msg + "; wait for a running command to end, or type the command into the terminal",
	}
}

// Close closes all connections except the first, which belongs to the caller.
func (s *Slots) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.timer.stop()
	for _, c := range s.conns[1:] {
		c.k.Close()
	}
}

// Wait waits for the goroutines of these connections.
func (s *Slots) Wait() {
	s.mu.Lock()
	conns := slices.Clone(s.conns[1:])
	s.mu.Unlock()
	for _, c := range conns {
		c.k.wg.Wait()
	}
}
