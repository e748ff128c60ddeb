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
	answer   chan string   // buffered: whoever takes the question off its life may send one answer
	cancel   chan struct{} // closed instead, when the person declines
	over     chan struct{} // closed when nobody can answer it any more
}

// Prompt implements term.Prompter for the session's own Dialer: it shows q in the output, and waits until
// somebody answers it with Write, declines it, or the time for answers is over.
func (s *Session) Prompt(ctx context.Context, q term.Prompt) (string, error) {
	p := &question{question: q, answer: make(chan string, 1), cancel: make(chan struct{}), over: make(chan struct{})}
	if err := s.life.ask(p, func(text string) { _, _ = s.buf.Write([]byte(text)) }); err != nil {
		return "", err
	}
	defer s.life.withdraw(p)
	s.auth.Observe(term.Event{Verb: term.VerbQuestion, Detail: string(q.Kind)})

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
			if !s.life.withdraw(p) {
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

// Pending returns the question that waits for an answer, or nil.
func (s *Session) Pending() *term.Prompt {
	if p := s.life.question(); p != nil {
		q := p.question
		return &q
	}
	return nil
}

// answer gives data to the pending question and reports whether there was one. One trailing line end is not
// part of the answer. ETX (ctrl_c) alone declines.
func (s *Session) answer(ctx context.Context, data []byte) (answered bool, err error) {
	p := s.life.question()
	if p == nil {
		return false, nil
	}
	return true, (&Asking{s: s, q: p}).give(ctx, data)
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

// ask makes p the question that waits, and shows it.
func (l *life) ask(p *question, show func(text string)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ctx.Err() != nil:
		return context.Cause(l.ctx)
	case l.state == Open: // what is typed then is for the terminal
		return &term.Error{
			Op:      "open",
			Session: l.session,
			Kind:    term.Unsupported,
			Msg:     "a question can only be asked while the session is opening: " + p.question.Text,
		}
	}
	show(p.question.Text)
	l.asked = p
	l.set(Authenticating)
	return nil
}

// withdraw removes p and reports whether it still waited.
func (l *life) withdraw(p *question) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked != p {
		return false
	}
	l.settle()
	l.set(l.state)
	return true
}

// settle takes the question that waits, if there is one, off. Requires l.mu.
func (l *life) settle() {
	if l.asked != nil {
		close(l.asked.over)
		l.asked = nil
	}
}

// question returns the question that waits, or nil.
func (l *life) question() *question {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked
}

// prompt returns what the question that waits asks, or nil. Requires l.mu.
func (l *life) prompt() *term.Prompt {
	if l.asked == nil {
		return nil
	}
	q := l.asked.question
	return &q
}
