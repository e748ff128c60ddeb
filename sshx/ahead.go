package sshx

import (
	"context"
	"strings"
	"time"
)

const (
	// aheadIdle is how long a channel opened ahead is kept for the next command.
	aheadIdle = 60 * time.Second

	// aheadGain is the round trip from which on the next command's channel is opened while this one runs. Below it,
	// opening it then would cost this command about what it saves the next.
	aheadGain = 2 * time.Millisecond
)

// Opening a channel costs a round trip, starting the command a second one. After the first command, one channel
// is therefore kept open ahead, on the Client's own connection, as long as the server has room for it.

// openAhead opens a channel for the next command, in the background, unless there is one.
func (s *slots) openAhead() {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.conns[0]
	if strings.HasPrefix(c.k.version, "SSH-2.0-dropbear") {
		return // it closes, or trips over, a channel that does nothing while commands end on others (2022.83)
	}
	if s.ahead != nil || s.opening || s.over || c.k.lost() != nil || c.max >= 0 && c.used >= c.max {
		return
	}
	c.used++
	s.opening = true
	c.k.wg.Go(func() {
		ctx, cancel := context.WithTimeout(c.k.ctx, requestLimit)
		defer cancel()
		ch, err := s.open(ctx, c)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.opening = false
		switch {
		case err != nil: // a slot is worth more to a command than to the next one
		case s.over:
			ch.drop()
		default:
			s.ahead = ch
			s.timer = time.AfterFunc(aheadIdle, func() { s.dropAhead(ch) })
			s.change()
		}
	})
}

// takeAhead returns the channel that was opened ahead, or nil if there is none, or the server has closed it.
func (s *slots) takeAhead() *channel {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.ahead
	if ch == nil {
		return nil
	}
	s.ahead = nil
	s.timer.Stop()
	select {
	case <-ch.closed:
		return nil
	default:
		return ch
	}
}

// dropAhead closes ch, unless it was taken.
func (s *slots) dropAhead(ch *channel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ahead == ch {
		s.ahead = nil
		ch.drop()
	}
}
