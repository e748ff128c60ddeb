package session

import (
	"context"

	"ptyctl/session/access"
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
	return a.give(ctx, text)
}

// Decline declines, as ctrl_c does: the login fails.
func (a *Asking) Decline(ctx context.Context) error { return a.give(ctx, []byte(etx)) }

// give gives data to the question, if that still waits. ETX (ctrl_c) alone declines.
func (a *Asking) give(ctx context.Context, data []byte) (err error) {
	s, p := a.s, a.q
	d := s.auth.Begin(ctx, term.VerbAnswer, term.Event{Size: len(data), Sensitive: true, Detail: string(p.question.Kind)})
	defer func() { d.End(err) }()
	if term.ActorFrom(ctx).Operator { // who has the lock may be waiting for just him
		err = d.PermitUnlocked(ctx, term.Action{})
	} else {
		_, err = d.Permit(ctx, term.Action{})
	}
	if err != nil {
		return err
	}
	if !s.life.withdraw(p) {
		return &term.Error{
			Op:      "write",
			Session: s.id,
			Kind:    term.Busy,
			Msg:     "another call answered this question first; read the session's state before answering again",
		}
	}
	if string(data) == etx {
		close(p.cancel)
	} else {
		p.answer <- string(trimLineEnd(data))
	}
	s.input.record(TxEvent{Verb: term.VerbAnswer, Task: access.HolderOf(term.ActorFrom(ctx)).String(), Sensitive: true})
	return nil
}
