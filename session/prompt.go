package session

import (
	"context"
	"time"

	"ptyctl/term"
)

// etx is what ctrl_c types: as an answer, it declines.
const etx = "\x03"

// A question is a Prompt that waits for its answer.
type question struct {
	question term.Prompt
	answer   chan string   // buffered: whoever takes the question off s.pending may send one answer
	cancel   chan struct{} // closed instead, when the person declines
	over     chan struct{} // closed when it is off s.pending: nobody can answer it any more
}

// Prompt implements term.Prompter for the session's own Dialer: it shows q in the output, and waits until
// somebody answers it with Write, declines it, or the time for answers is over.
func (s *Session) Prompt(ctx context.Context, q term.Prompt) (string, error) {
	p := &question{question: q, answer: make(chan string, 1), cancel: make(chan struct{}), over: make(chan struct{})}
	if err := s.ask(p); err != nil {
		return "", err
	}
	defer s.withdraw(p)
	s.observe(term.Event{Verb: term.VerbQuestion, Detail: string(q.Kind)})

	timer := time.NewTimer(s.o.PromptTimeout)
	defer timer.Stop()
	for {
		select {
		case a := <-p.answer:
			_, _ = s.buf.Write([]byte("\r\n"))
			return a, nil
		case <-p.cancel:
			return "", &term.Error{Op: "open", Session: s.id, Kind: term.Canceled, Msg: "the question was declined with ctrl_c"}
		case <-timer.C:
			if !s.withdraw(p) {
				continue // somebody was told that the answer is accepted: it is on its way
			}
			return "", &term.Error{
				Op:      "open",
				Session: s.id,
				Kind:    term.AuthFailed,
				Msg:     "nobody answered within " + s.o.PromptTimeout.String() + ": " + q.Text,
				Details: &term.Details{Prompt: &q},
			}
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// ask makes p the question that waits.
func (s *Session) ask(p *question) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ctx.Err() != nil:
		return context.Cause(s.ctx)
	case s.state == Open: // what is typed then is for the terminal
		return &term.Error{
			Op:      "open",
			Session: s.id,
			Kind:    term.Unsupported,
			Msg:     "a question can only be asked while the session is opening: " + p.question.Text,
		}
	}
	_, _ = s.buf.Write([]byte(p.question.Text))
	s.pending = p
	s.setState(Authenticating)
	return nil
}

// withdraw removes p and reports whether it still waited.
func (s *Session) withdraw(p *question) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending != p {
		return false
	}
	s.settleLocked()
	s.setState(s.state)
	return true
}

// settleLocked takes the question that waits, if there is one, off. Requires s.mu.
func (s *Session) settleLocked() {
	if s.pending != nil {
		close(s.pending.over)
		s.pending = nil
	}
}

// Pending returns the question that waits for an answer, or nil.
func (s *Session) Pending() *term.Prompt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.promptLocked()
}

// promptLocked requires s.mu.
func (s *Session) promptLocked() *term.Prompt {
	if s.pending == nil {
		return nil
	}
	q := s.pending.question
	return &q
}

// answer gives data to the pending question and reports whether there was one. One trailing line end is not
// part of the answer. ETX (ctrl_c) alone declines.
func (s *Session) answer(ctx context.Context, data []byte) (answered bool, err error) {
	s.mu.Lock()
	p := s.pending
	s.mu.Unlock()
	if p == nil {
		return false, nil
	}
	return true, s.answerTo(ctx, p, data)
}

// answerTo gives data to p, if that still waits.
func (s *Session) answerTo(ctx context.Context, p *question, data []byte) (err error) {
	d := s.begin(ctx, term.VerbAnswer, term.Event{Size: len(data), Sensitive: true, Detail: string(p.question.Kind)})
	defer func() { d.end(err) }()
	if term.ActorFrom(ctx).Operator { // who has the lock may be waiting for just him
		err = d.permitUnlocked(ctx, term.Action{})
	} else {
		_, err = d.permit(ctx, term.Action{})
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	taken := s.pending == p
	if taken {
		s.settleLocked()
		s.setState(s.state)
	}
	s.mu.Unlock()
	if !taken {
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
	s.recordTx(TxEvent{Verb: term.VerbAnswer, Task: holderOf(term.ActorFrom(ctx)).String(), Sensitive: true})
	return nil
}

// trimLineEnd removes one trailing CR LF, CR or LF.
func trimLineEnd(p []byte) []byte {
	if n := len(p); n > 0 && p[n-1] == '\n' {
		p = p[:n-1]
	}
	if n := len(p); n > 0 && p[n-1] == '\r' {
		p = p[:n-1]
	}
	return p
}
