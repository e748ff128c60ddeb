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

// A Store gives out secrets. It implements term.Answerer and term.Secrets. Its methods may be called by any number of
// goroutines.
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
		value, err := s.use(ctx, d, d.permits(l, q), use{
			Peer: term.Peer{Protocol: "ssh", Host: l.Host, Port: l.Port, User: l.User}, question: q.Text, way: term.SecretLogin,
		})
		if err != nil {
			return "", "", err
		}
		defer clear(value)
		return string(value), d.Name, nil
	}
	return "", "", nil
}

// Release implements term.Secrets.
func (s *Store) Release(ctx context.Context, r term.SecretRequest) ([]byte, error) {
	for i := range s.list {
		if d := &s.list[i]; d.Name == r.Name {
			return s.use(ctx, d, d.releases(r), use{
				Peer: r.Peer, question: r.Prompt, way: r.Use, command: r.Command, sudo: r.Sudo,
			})
		}
	}
	return nil, term.Errorf(term.NotFound, "the operator has no secret %q", r.Name)
}

// A use is one use of a secret, as it is put on record.
type use struct {
	term.Peer
	way      term.SecretUse
	question string // of a login or a terminal
	command  string // whose standard input gets it
	sudo     bool
}

// use returns the value if refused is nil and there were not too many uses.
func (s *Store) use(ctx context.Context, d *Definition, refused error, u use) ([]byte, error) {
	if refused == nil {
		refused = s.count(d)
	}
	if err := s.record(ctx, d, u, refused); err != nil {
		return nil, err
	}
	value, err := d.Source.Fetch(ctx)
	if err != nil {
		return nil, &term.Error{
			Kind: term.AuthFailed, Err: err, Msg: fmt.Sprintf("secret %s is not available: %v", d.Name, err),
		}
	}
	return value, nil
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
func (s *Store) record(ctx context.Context, d *Definition, u use, refused error) error {
	if s.o.Journal == nil {
		return refused
	}
	err := s.o.Journal(term.Event{
		Time: time.Now(), Verb: term.VerbSecret, Actor: term.ActorFrom(ctx), Protocol: u.Protocol, Session: u.Session,
		Host: u.Host, Refused: refused, Detail: d.Name + " for " + u.String(),
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

// String describes the use without the question's text, which is the far side's.
func (u use) String() string {
	where := "this machine"
	switch {
	case u.Device != "":
		where = u.Device
	case u.Host != "" && u.User != "":
		where = fmt.Sprintf("%s at %s:%d", u.User, u.Host, u.Port)
	case u.Host != "":
		where = fmt.Sprintf("%s:%d", u.Host, u.Port)
	}
	switch {
	case u.sudo:
		return "sudo of " + where
	case u.way == term.SecretStdin:
		return fmt.Sprintf("the input of a command of %s, command sha256:%x", where, sha256.Sum256([]byte(u.command)))
	case u.way == term.SecretTerminal:
		return fmt.Sprintf("a terminal of %s, question sha256:%x", where, sha256.Sum256([]byte(u.question)))
	}
	return fmt.Sprintf("the login of %s, question sha256:%x", where, sha256.Sum256([]byte(u.question)))
}
