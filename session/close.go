package session

import (
	"context"
	"time"

	"ptyctl/term"
)

// MayClose decides whether the caller may end the session: lock, Gate and Journal are asked as for any action, but
// force does without the lock. A refusal is an event. Closing what has ended is always allowed.
func (s *Session) MayClose(ctx context.Context, force bool) error {
	if s.State().Ended() {
		return nil
	}
	d := s.begin(ctx, term.VerbClose, term.Event{})
	var err error
	if force {
		err = d.permitUnlocked(ctx, term.Action{})
	} else {
		_, err = d.permit(ctx, term.Action{})
	}
	if err != nil { // otherwise Close tells of it
		d.end(err)
	}
	return err
}

// Settle waits, at most d, until a login that was just given an answer has taken its next step: it is open, has
// ended, or asks the next question.
func (s *Session) Settle(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	s.await(ctx, func(st State, q *term.Prompt) bool { return st == Open || st.Ended() || q != nil })
}
