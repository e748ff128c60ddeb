package session

import (
	"context"
	"time"

	"ptyctl/session/access"
	"ptyctl/term"
)

// etx is what ctrl_c types: as an answer, it declines.
const etx = "\x03"

// A question is a Prompt that waits for its answer.
type question struct {
	question term.Prompt
	answer   chan string   // buffered: the goroutine that takes the question may send one answer
	cancel   chan struct{} // closed instead, when the person declines
	over     chan struct{} // closed when the question takes no answer any more
}

// Prompt implements term.Prompter for the session's own Dialer. It shows q in the output, and waits until a caller
// answers it with Write or declines it, or the time for answers is over.
func (s *Session) Prompt(ctx context.Context, q term.Prompt) (string, error) {
	p := &question{question: q, answer: make(chan string, 1), cancel: make(chan struct{}), over: make(chan struct{})}
	ask := func() error { return s.life.ask(p, func(text string) { _, _ = s.buf.Write([]byte(text)) }) }
	if err := s.owner.mayAsk(s, ask); err != nil {
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
			return "", sessionError("open", s.id, term.Canceled, "the question was declined with ctrl_c")
		case <-timer.C:
			if !s.life.withdraw(p) {
				continue // an answer was accepted already, and is on its way
			}
			return "", &term.Error{
				Op:      "open",
				Session: s.id,
				Kind:    term.AuthFailed,
				Msg:     "the question of the login was not answered within " + s.o.PromptTimeout.String(),
				Facts:   term.Facts{q},
			}
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
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
	case l.state == Open: // later input is for the terminal
		return sessionError("open", l.session, term.Unsupported,
			"a question can only be asked while the session is opening: "+p.question.Text)
	}
	// Text and question change under one mutex: an answer to the text finds the question.
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

// prompt returns the question that waits for an answer, or nil. Requires l.mu.
func (l *life) prompt() *term.Prompt {
	if l.asked == nil {
		return nil
	}
	q := l.asked.question
	return &q
}

// asks reports whether the login waits for an answer, and returns a channel that is closed when that may change.
func (l *life) asks() (bool, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked != nil, l.changed
}

// A Question is one question of a login. An answer to it that comes late, when another question waits, never
// answers that one.
type Question struct {
	s     *Session
	asked *question
}

// Question returns the question that waits for an answer, or nil.
func (s *Session) Question() *Question {
	if asked := s.life.question(); asked != nil {
		return &Question{s: s, asked: asked}
	}
	return nil
}

// Session returns the session that asks.
func (q *Question) Session() *Session { return q.s }

// Prompt returns the question.
func (q *Question) Prompt() term.Prompt { return q.asked.question }

// Over returns a channel that is closed when the question takes no answer any more: it was answered or declined, or
// its time or its session is over.
func (q *Question) Over() <-chan struct{} { return q.asked.over }

// Answer answers the question. One trailing line end is not part of the answer. If the question does not wait any
// more, the error is Busy. The text is not kept: the caller may overwrite it.
func (q *Question) Answer(ctx context.Context, text []byte) error {
	if string(text) == etx { // typed as text it is no key
		text = nil
	}
	return q.give(ctx, text)
}

// Decline declines, as ctrl_c does: the login fails.
func (q *Question) Decline(ctx context.Context) error { return q.give(ctx, []byte(etx)) }

// give gives data to the question, if that still waits. One trailing line end is not part of the answer. ETX (ctrl_c)
// alone declines.
func (q *Question) give(ctx context.Context, data []byte) (err error) {
	s, p := q.s, q.asked
	d := s.auth.Begin(
		ctx,
		term.VerbAnswer,
		term.Event{Size: len(data), Sensitive: true, Detail: string(p.question.Kind)},
	)
	defer func() { d.End(err) }()
	if term.ActorFrom(ctx).Operator { // a task with the lock may be waiting for the operator's answer
		err = d.PermitUnlocked(ctx, term.Action{})
	} else {
		_, err = d.Permit(ctx, term.Action{})
	}
	if err != nil {
		return err
	}
	// Of several answers one takes the question off; the others are for nothing that waits.
	if !s.life.withdraw(p) {
		return sessionError("write", s.id, term.Busy,
			"another call answered this question first; read the session's state before answering again")
	}
	if string(data) == etx {
		close(p.cancel)
	} else {
		p.answer <- string(trimLineEnd(data))
	}
	s.input.Add(TxEvent{
		Verb: term.VerbAnswer, Task: access.HolderOf(term.ActorFrom(ctx)).String(), Sensitive: true,
		Step: access.StepFrom(ctx),
	})
	return nil
}
