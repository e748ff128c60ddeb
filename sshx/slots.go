package sshx

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"ptyctl/term"
)

const (
	// aheadIdle is how long a channel opened ahead is kept for the next command.
	aheadIdle = 60 * time.Second

	// slotWait is how long a command waits for a channel of ours to become free before another connection is
	// made for it.
	slotWait = 2 * time.Second
)

// slots hand out session channels for commands. A server limits them per connection (sshd_config(5)
// MaxSessions, 10), so there are, in this order: the channel kept opened ahead, a new one on a connection we
// have, one that becomes free, one on a further connection.
//
// Opening a channel costs a round trip, starting the command a second one. After the first command, one channel
// is therefore kept open ahead.
type slots struct {
	dial  func(context.Context) (*link, error) // another connection; nil: there may be none
	limit int                                  // connections, the first included

	mu    sync.Mutex // guards the following
	conns []*carrier
	ahead *channel
	timer *time.Timer
	freed chan struct{} // closed and replaced when a slot becomes free
	over  bool
}

// A carrier is a connection and how many commands it carries.
type carrier struct {
	k     *link
	used  int
	max   int  // what the server allows at a time besides what else we have on it; -1: not yet known
	spare bool // a channel may be kept open ahead
}

func newSlots(k *link, limit int, dial func(context.Context) (*link, error)) *slots {
	return &slots{dial: dial, limit: limit, conns: []*carrier{{k: k, max: -1, spare: true}}, freed: make(chan struct{})}
}

// take returns a channel for one command. free must be called when the command has ended.
func (s *slots) take(ctx context.Context) (ch *channel, free func(), err error) {
	if ch, free := s.takeAhead(); ch != nil {
		return ch, free, nil
	}
	patience := time.NewTimer(slotWait)
	defer patience.Stop()
	impatient := false
	for {
		c, freed, busy := s.pick()
		if c != nil {
			ch, err := c.k.openSession(ctx)
			if err == nil {
				return ch, func() { s.free(c) }, nil
			}
			var refused errRefused
			if !errors.As(err, &refused) {
				s.free(c)
				return nil, nil, err
			}
			s.refused(c)
			continue
		}
		if busy && !impatient {
			select {
			case <-freed:
			case <-patience.C:
				impatient = true
			case <-ctx.Done():
				return nil, nil, s.full(context.Cause(ctx))
			}
			continue
		}
		switch more, err := s.grow(ctx); {
		case err != nil:
			return nil, nil, s.full(err)
		case more:
		case busy:
			select {
			case <-freed:
			case <-ctx.Done():
				return nil, nil, s.full(context.Cause(ctx))
			}
		default:
			return nil, nil, s.full(nil)
		}
	}
}

// takeAhead returns the channel that was opened ahead, if there is one.
func (s *slots) takeAhead() (*channel, func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.ahead
	if ch == nil {
		return nil, nil
	}
	s.ahead = nil
	s.timer.Stop()
	for _, c := range s.conns {
		if c.k == ch.k {
			return ch, func() { s.free(c) }
		}
	}
	return nil, nil
}

// pick reserves a place on a connection that may have one; nil if none has. busy says that one of ours will
// become free, and freed is closed when that happens.
func (s *slots) pick() (c *carrier, freed <-chan struct{}, busy bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		if c.k.lost() != nil && c != s.conns[0] {
			continue
		}
		if c.max < 0 || c.used < c.max {
			c.used++
			return c, nil, false
		}
		busy = busy || c.used > 0
	}
	return nil, s.freed, busy
}

// refused notes that the server opens no more than what is in use now.
func (s *slots) refused(c *carrier) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.used--
	c.max = c.used
	c.spare = false // a slot is worth more to a command than to the next one
}

func (s *slots) free(c *carrier) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.used--
	close(s.freed)
	s.freed = make(chan struct{})
}

// grow makes another connection, if there may be one.
func (s *slots) grow(ctx context.Context) (bool, error) {
	s.mu.Lock()
	may := s.dial != nil && len(s.conns) < s.limit && !s.over
	s.mu.Unlock()
	if !may {
		return false, nil
	}
	k, err := s.dial(ctx)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		k.close()
		return false, nil
	}
	s.conns = append(s.conns, &carrier{k: k, max: -1})
	return true, nil
}

// full is the error when there is no channel to be had.
func (s *slots) full(cause error) error {
	var own *term.Error
	if errors.As(cause, &own) && own.Kind == term.RemoteClosed {
		return own
	}
	msg := fmt.Sprintf("%s opens no further channel for a command (MaxSessions in its sshd_config), and another connection could not be made", s.conns[0].k.hop)
	if cause != nil {
		msg += ": " + cause.Error()
	}
	return &term.Error{Kind: term.LimitExceeded, Err: cause, Msg: msg + "; wait for a running command to end, or type the command with ptyctl_session_io"}
}

// openAhead opens a channel for the next command, in the background, unless there is one.
func (s *slots) openAhead() {
	s.mu.Lock()
	c := s.conns[0]
	if s.ahead != nil || s.over || !c.spare || c.k.lost() != nil || (c.max >= 0 && c.used >= c.max) {
		s.mu.Unlock()
		return
	}
	c.used++
	s.mu.Unlock()
	c.k.wg.Go(func() {
		ctx, cancel := context.WithTimeout(c.k.ctx, requestLimit)
		defer cancel()
		ch, err := c.k.openSession(ctx)
		if err != nil {
			if errors.As(err, new(errRefused)) {
				s.refused(c)
			} else {
				s.free(c)
			}
			return
		}
		s.keepAhead(c, ch)
	})
}

func (s *slots) keepAhead(c *carrier, ch *channel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ahead != nil || s.over {
		c.used--
		ch.abandon()
		return
	}
	s.ahead = ch
	s.timer = time.AfterFunc(aheadIdle, func() {
		if ch, free := s.takeAhead(); ch != nil {
			ch.abandon()
			free()
		}
	})
}

// close closes the further connections. The first belongs to the Client.
func (s *slots) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if s.timer != nil {
		s.timer.Stop()
	}
	for _, c := range s.conns[1:] {
		c.k.close()
	}
}

// wait waits for the goroutines of the further connections.
func (s *slots) wait() {
	s.mu.Lock()
	conns := s.conns[1:]
	s.mu.Unlock()
	for _, c := range conns {
		c.k.wg.Wait()
	}
}
