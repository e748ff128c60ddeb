package session

import (
	"context"
	"time"

	"ptyctl/term"
)

// MayClose decides whether the caller may end the session: lock, Gate and Journal are asked as for any action, but
// force does without the lock. Closing what has ended is always allowed.
func (s *Session) MayClose(ctx context.Context, force bool) error {
	if s.State().Ended() {
		return nil
	}
	if force {
		return s.permitUnlocked(ctx, term.Action{Verb: term.VerbClose}, term.Event{})
	}
	_, err := s.permit(ctx, term.Action{Verb: term.VerbClose}, term.Event{})
	return err
}

// Settle waits, at most d, until a login that was just given an answer has taken its next step: it is open, has
// ended, or asks the next question.
func (s *Session) Settle(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	s.await(ctx, func(st State, q *term.Prompt) bool { return st == Open || st.Ended() || q != nil })
}
