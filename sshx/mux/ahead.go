package mux

import (
	"context"
	"time"
)

const (
	// aheadIdle is how long a channel opened ahead waits for the next command.
	aheadIdle = 60 * time.Second

	// aheadGain is the shortest round trip for which the next command's channel
	// is opened while this command runs. Below it, this command would lose about
	// as much time as the next one gains.
	aheadGain = 2 * time.Millisecond
)

// Opening a channel costs a round trip, and starting the command a second one.
// Therefore, after the first command, one channel is kept open ahead on the
// first connection, as long as the server has room for it.

// openAhead opens a channel for the next command in the background, unless there
// is one.
func (s *Slots) openAhead() {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.conns[0]
	// A dropbear (2022.83) closes an idle channel while commands end on others,
	// or mishandles it.
	if c.k.is("dropbear") {
		return
	}
	if s.ahead != nil || s.opening || s.over || c.k.Lost() != nil || c.max >= 0 && c.used >= c.max {
		return
	}
	c.used++
	s.opening = true
	c.k.wg.Go(func() {
		ctx, cancel := context.WithTimeout(c.k.ctx, RequestLimit)
		defer cancel()
		ch, err := s.open(ctx, c)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.opening = false
		switch {
		case err != nil: // the slot stays free for a command
		case s.over:
			ch.Drop()
		default:
			s.ahead = ch
			s.timer = newAlarm(aheadIdle, func() { s.dropAhead(ch) })
			s.change()
		}
	})
}

// TakeAhead returns the channel opened ahead. It returns nil without one, or if
// the server has closed it.
func (s *Slots) TakeAhead() *Channel {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.ahead
	if ch == nil {
		return nil
	}
	s.ahead = nil
	s.timer.stop()
	select {
	case <-ch.closed:
		return nil
	default:
		return ch
	}
}

// dropAhead closes ch, unless a command has taken it.
func (s *Slots) dropAhead(ch *Channel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ahead == ch {
		s.ahead = nil
		ch.Drop()
	}
}
