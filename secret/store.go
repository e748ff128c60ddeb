package secret

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"ptyctl/term"
)

// Options are the surroundings of a store.
type Options struct {
	// Journal puts a use on record before the value is fetched. An error refuses the use. Nil: no record.
	Journal term.Journal
}

// A Store gives out secrets. It implements term.Answerer. Its methods may be called by any number of goroutines.
type Store struct {
	o    Options
	list []Definition

	mu   sync.Mutex
	uses map[string][]time.Time // by name: those of the last hour
}

// NewStore returns a store of the secrets in list, of which the first that fits is used.
func NewStore(list []Definition, o Options) *Store {
	return &Store{o: o, list: list, uses: make(map[string][]time.Time)}
}

// Expects implements term.Answerer.
func (s *Store) Expects(l term.Login) bool {
	for i := range s.list {
		if s.list[i].isFor(l) {
			return true
		}
	}
	return false
}

// Answer implements term.Answerer. The error has the kind POLICY_DENIED with the condition that does not hold, or
// AUTH_FAILED if the value cannot be fetched.
func (s *Store) Answer(ctx context.Context, l term.Login, q term.Prompt) (answer, name string, err error) {
	for i := range s.list {
		d := &s.list[i]
		if !d.isFor(l) || !d.answers(q) {
			continue
		}
		if err := d.permits(l, q); err != nil {
			return "", "", s.record(ctx, d, l, q, err)
		}
		if err := s.count(d); err != nil {
			return "", "", s.record(ctx, d, l, q, err)
		}
		if err := s.record(ctx, d, l, q, nil); err != nil {
			return "", "", err
		}
		value, err := d.Source.Fetch(ctx)
		if err != nil {
			return "", "", &term.Error{
				Kind: term.AuthFailed, Err: err, Msg: fmt.Sprintf("secret %s is not available: %v", d.Name, err),
			}
		}
		defer clear(value)
		return string(value), d.Name, nil
	}
	return "", "", nil
}

// count counts a use, unless there were too many.
func (s *Store) count(d *Definition) error {
	if d.PerHour == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	uses := s.uses[d.Name]
	for len(uses) > 0 && now.Sub(uses[0]) >= time.Hour {
		uses = uses[1:]
	}
	if len(uses) >= d.PerHour {
		s.uses[d.Name] = uses
		return d.refuse("per_hour", fmt.Sprintf("it was used %d times within an hour; the next use is possible in %v",
			len(uses), uses[0].Add(time.Hour).Sub(now).Round(time.Second)))
	}
	s.uses[d.Name] = append(uses, now)
	return nil
}

// record puts a use or its refusal on record, and returns the refusal, or why a use cannot be recorded.
func (s *Store) record(ctx context.Context, d *Definition, l term.Login, q term.Prompt, refused error) error {
	if s.o.Journal == nil {
		return refused
	}
	err := s.o.Journal(term.Event{
		Time: time.Now(), Verb: term.VerbSecret, Actor: term.ActorFrom(ctx), Protocol: "ssh", Host: l.Host, Refused: refused,
		Detail: fmt.Sprintf("%s for the login of %s at %s:%d, question sha256:%x", d.Name, l.User, l.Host, l.Port,
			sha256.Sum256([]byte(q.Text))),
	})
	switch {
	case refused != nil:
		return refused
	case err != nil:
		return &term.Error{
			Kind: term.IOError, Err: err,
			Msg: fmt.Sprintf("secret %s is not given: its use cannot be put on record: %v", d.Name, err),
		}
	}
	return nil
}
