package session

import (
	"context"

	"ptyctl/term"
)

// An Asking is one question of a login. It stays that question whatever is asked after it, so that an answer that comes
// late, or from elsewhere, never answers another one.
type Asking struct {
	s *Session
	q *question
}

// Asking returns the question that waits for an answer, or nil.
func (s *Session) Asking() *Asking {
	if q := s.life.question(); q != nil {
		return &Asking{s: s, q: q}
	}
	return nil
}

// Session returns the session that asks.
func (a *Asking) Session() *Session { return a.s }

// Prompt returns what is asked.
func (a *Asking) Prompt() term.Prompt { return a.q.question }

// Over returns a channel that is closed when nobody can answer any more: somebody has, or it was declined, or its time or
// its session is over.
func (a *Asking) Over() <-chan struct{} { return a.q.over }

// Answer answers. One trailing line end is not part of the answer. If the question does not wait any more, it is Busy. The
// text is not kept: the caller may overwrite it.
func (a *Asking) Answer(ctx context.Context, text []byte) error {
	if string(text) == etx { // typed as text it is no key
		text = nil
	}
	return a.s.answerTo(ctx, a.q, text)
}

// Decline declines, as ctrl_c does: the login fails.
func (a *Asking) Decline(ctx context.Context) error { return a.s.answerTo(ctx, a.q, []byte(etx)) }
