package session

import (
	"context"
	"regexp"
	"sync"

	"ptyctl/session/lane"
	"ptyctl/session/output"
	"ptyctl/term"
)

// Expect are patterns for a terminal's output. All are optional, and none is needed for correctness.
type Expect struct {
	Prompt *regexp.Regexp   // ready for the next command
	Pagers []*regexp.Regexp // a pager waits for a key
	Errors []*regexp.Regexp // the output speaks of a failure

	Class    Class     // of the far side, for a command in the terminal that names none; empty: found out
	Profile  string    // the name of the profile that the others come from, for the record
	AutoPage *AutoPage // nil: no pager is ever answered
}

// An AutoPage lets a command in the terminal turn the pages of a pager.
type AutoPage = lane.AutoPage

// patterns are those of a session.
//
// They are copied out: a command goes on with the patterns with which it began.
type patterns struct {
	mu sync.Mutex // guards the following
	e  Expect
}

// Expect returns the session's patterns.
func (s *Session) Expect() Expect {
	s.expect.mu.Lock()
	defer s.expect.mu.Unlock()
	return s.expect.e
}

// SetExpect replaces the patterns that e sets, and keeps the others.
func (s *Session) SetExpect(ctx context.Context, e Expect) (err error) {
	d := s.auth.Begin(ctx, term.VerbExpect, term.Event{Detail: e.Profile})
	defer func() { d.End(err) }()
	if s.State().Ended() {
		return s.life.alive("expect")
	}
	if _, err := d.Permit(ctx, term.Action{}); err != nil {
		return err
	}
	s.expect.mu.Lock()
	s.expect.e = s.expect.e.with(e)
	s.expect.mu.Unlock()
	return nil
}

// with returns e, overridden by what o sets. An empty, non-nil list clears.
func (e Expect) with(o Expect) Expect {
	if o.Prompt != nil {
		e.Prompt = o.Prompt
	}
	if o.Pagers != nil {
		e.Pagers = o.Pagers
	}
	if o.Errors != nil {
		e.Errors = o.Errors
	}
	if o.Class != "" {
		e.Class = o.Class
	}
	if o.Profile != "" {
		e.Profile = o.Profile
	}
	if o.AutoPage != nil {
		e.AutoPage = o.AutoPage
	}
	return e
}

// maxHints and maxHint bound what hints returns.
const (
	maxHints = 5
	maxHint  = 200
)

// hints returns the text that the error patterns match in the outputs: a few matches, each of bounded length.
func (e Expect) hints(outputs ...[]byte) []string {
	var found []string
	for _, out := range outputs {
		for _, re := range e.Errors {
			for _, m := range re.FindAll(out, maxHints) {
				if len(found) == maxHints {
					return found
				}
				if len(m) > maxHint {
					m = m[:maxHint]
					m = m[:len(m)-output.PartialRune(m)]
				}
				found = append(found, string(m))
			}
		}
	}
	return found
}
