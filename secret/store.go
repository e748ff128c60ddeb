package secret

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"time"

	"ptyctl/secret/source"
	"ptyctl/term"
)

// Options are the surroundings of a store.
type Options struct {
	// Journal puts a use on record before the value is fetched. An error refuses the use. Nil: no record.
	Journal term.Journal

	// Person is asked to agree to uses, and for values. Nil: none can be asked.
	Person term.SecretPerson

	// Uses counts for PerHour over several stores, such as those of a configuration that is read again. Nil: for this one.
	Uses *Uses

	// Redactor hides the value of each secret from before it is given on. Nil: none is hidden.
	Redactor term.Redactor
}

// A Store gives out secrets. It implements term.Answerer and term.Secrets. Its methods may be called by any number of
// goroutines.
type Store struct {
	o    Options
	list []Definition

	mu     sync.Mutex             // guards the following
	agreed map[agreement]struct{} // the first uses to which a person has agreed
}

// An agreement is a person's consent to the uses of a secret by one caller in one session.
type agreement struct {
	name    string
	by      term.Principal
	session string
	peer    string // where there is no session yet
}

// loginPatience is how long a login waits for a person who must agree: less than the two minutes after which most hosts
// give a login up (sshd_config(5) LoginGraceTime).
const loginPatience = 110 * time.Second

// maxAgreements bounds the agreements. Afterwards people are asked once more.
const maxAgreements = 10_000

// NewStore returns a store of the secrets in list. A request uses the first secret that fits.
func NewStore(list []Definition, o Options) *Store {
	o.Uses = cmp.Or(o.Uses, new(Uses))
	return &Store{o: o, list: list, agreed: make(map[agreement]struct{})}
}

// Expects implements term.Answerer.
func (s *Store) Expects(l term.Login) bool {
	if l.Secret != "" && s.find(l.Secret) == nil {
		return true // Answer says so
	}
	for i := range s.list {
		if s.list[i].isFor(l) || s.list[i].isNamedFor(l) {
			return true
		}
	}
	return false
}

// Answer implements term.Answerer. The error has the kind POLICY_DENIED with the condition that does not hold, or
// AUTH_FAILED if the value cannot be fetched.
func (s *Store) Answer(ctx context.Context, l term.Login, q term.Prompt) (answer, name string, err error) {
	d, refused := s.answering(term.ActorFrom(ctx), l, q)
	switch {
	case l.Secret != "" && s.find(l.Secret) == nil:
		return "", "", errUnknown
	case d == nil:
		return "", "", nil
	case q.Kind == term.PromptPassphrase && d.Name == l.Secret:
		// The value may be the password of the account, which is asked for next, and not the passphrase. Then the key is
		// left out: without an answer it cannot be read.
		if name = d.Name + " (passphrase)"; slices.Contains(l.Given, name) {
			return "", name, nil
		}
	default:
		name = d.Name
	}
	if refused == nil {
		refused = d.permits(l, q)
	}
	value, err := s.use(ctx, d, refused, term.SecretRequest{
		Name: d.Name, Use: term.SecretLogin, Prompt: q.Text, Wait: loginPatience, Peer: peerOf(l),
	})
	if err != nil {
		return "", "", err
	}
	defer clear(value)
	return string(value), name, nil
}

// peerOf is the far side of a login.
func peerOf(l term.Login) term.Peer {
	return term.Peer{Protocol: "ssh", Host: l.Host, Port: l.Port, User: l.User, Names: l.Names, HostKey: l.HostKey}
}

// answering returns the secret that answers a question of a login, or nil. The secret that the caller named goes
// first; refused says why it is not for this login. A secret that was not named is only for its own callers: other
// callers have their own secrets for the same host, or are asked.
func (s *Store) answering(a term.Actor, l term.Login, q term.Prompt) (d *Definition, refused error) {
	if d = s.find(l.Secret); d != nil && d.isNamedFor(l) && d.answersNamed(q) {
		return d, d.loggedIn(l)
	}
	for i := range s.list {
		if d = &s.list[i]; d.isFor(l) && d.answers(q) && d.mayUse(a) == nil {
			return d, nil
		}
	}
	return nil, nil
}

// Release implements term.Secrets.
func (s *Store) Release(ctx context.Context, r term.SecretRequest) ([]byte, error) {
	d := s.find(r.Name)
	if d == nil {
		return nil, errUnknown
	}
	_, refused := d.releases(ctx, r)
	return s.use(ctx, d, refused, r)
}

// use returns the value if refused is nil, and hides it in all that is shown from now on.
func (s *Store) use(ctx context.Context, d *Definition, refused error, r term.SecretRequest) ([]byte, error) {
	value, err := s.fetch(ctx, d, refused, r)
	if err != nil {
		return nil, err
	}
	if err := s.given(ctx, d, r, value); err != nil {
		clear(value)
		return nil, err
	}
	return value, nil
}

// given hides a value that is there, or refuses one that could not be hidden.
func (s *Store) given(ctx context.Context, d *Definition, r term.SecretRequest, value []byte) error {
	if err := d.usable(value); err != nil {
		return s.record(ctx, d, r, err)
	}
	s.hide(d, r.Peer, value)
	return nil
}

// hide keeps a value that is about to be sent to a peer out of all that is shown.
func (s *Store) hide(d *Definition, p term.Peer, value []byte) {
	if s.o.Redactor == nil {
		return
	}
	hidden := term.RedactedValue{Value: value, Session: p.Session, OneTime: d.OneTime}
	if p.Host != "" {
		hidden.Host = term.Place(p.Host, p.Port)
	}
	s.o.Redactor.Redact(hidden)
}

// fetch returns the value if refused is nil, the caller may use it, there were not too many uses, and a person who has to
// agree does.
func (s *Store) fetch(
	ctx context.Context, d *Definition, refused error, r term.SecretRequest,
) (value []byte, err error) {
	person := source.IsPerson(d.Source)
	if refused == nil {
		refused = d.mayUse(term.ActorFrom(ctx))
	}
	if refused == nil {
		refused = s.o.Uses.count(d, false)
	}
	switch {
	case refused != nil || person && r.Use == term.SecretLogin:
	case person: // a person who gives the value agrees
		value, refused = s.ask(ctx, term.SecretQuestion{Secret: d.Name, Rule: d.rule("source"), Value: true, About: r})
	case d.Confirm != ConfirmNever && d.Confirm != "":
		refused = s.confirmed(ctx, d, r)
	}
	if refused == nil {
		refused = s.o.Uses.count(d, true) // others may have come while a person was asked
	}
	if term.KindOf(refused) == term.Busy { // the question is on record
		return nil, refused
	}
	if err := s.record(ctx, d, r, refused); err != nil {
		clear(value)
		return nil, err
	}
	switch {
	case value != nil:
		return value, nil
	case person:
		return nil, &term.PersonAnswers{Secret: d.Name, Gave: func(value []byte) error { return s.given(ctx, d, r, value) }}
	}
	if value, err = d.Source.Fetch(ctx); err != nil {
		return nil, &term.Error{
			Kind: term.AuthFailed, Err: err, Msg: fmt.Sprintf("secret %s is not available: %v", d.Name, err),
		}
	}
	return value, nil
}

// confirmed asks a person to agree to a use, unless they have agreed to the first one.
func (s *Store) confirmed(ctx context.Context, d *Definition, r term.SecretRequest) error {
	key := agreement{name: d.Name, by: term.ActorFrom(ctx).Principal(), session: r.Peer.Session}
	if key.session == "" {
		key.peer = where(r.Peer)
	}
	s.mu.Lock()
	_, before := s.agreed[key]
	s.mu.Unlock()
	if before {
		return nil
	}
	q := term.SecretQuestion{Secret: d.Name, Rule: d.rule("confirm"), About: r}
	q.Lasting = d.Confirm == ConfirmFirst && !r.Alone // a program that is alone takes its session with it
	if _, err := s.ask(ctx, q); err != nil {
		return err
	}
	if d.Confirm == ConfirmFirst {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.agreed) >= maxAgreements {
			clear(s.agreed)
		}
		s.agreed[key] = struct{}{}
	}
	return nil
}

// ask asks a person.
func (s *Store) ask(ctx context.Context, q term.SecretQuestion) ([]byte, error) {
	if s.o.Person == nil {
		return nil, term.Errorf(term.PolicyDenied, "secret %s is not given: a person would have to be asked, and none can "+
			"answer in this process", q.Secret)
	}
	defer term.AwaitPerson(ctx, term.Waiting{Kind: term.ForPerson, Text: "secret " + q.Secret})()
	return s.o.Person.AskSecret(ctx, q)
}

// record puts a use or its refusal on record, and returns the refusal, or why a use cannot be recorded.
func (s *Store) record(ctx context.Context, d *Definition, r term.SecretRequest, refused error) error {
	if s.o.Journal == nil {
		return refused
	}
	e := term.Event{
		Time: time.Now(), Verb: term.VerbSecret, Actor: term.ActorFrom(ctx), Protocol: r.Peer.Protocol,
		Session: r.Peer.Session, Host: r.Peer.Host, Refused: refused, Detail: d.Name + " for " + purpose(r),
	}
	if refused == nil && d.Confirm != ConfirmNever && d.Confirm != "" {
		e.Consent = d.rule("confirm")
	}
	err := s.o.Journal(e)
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

// purpose describes a use without the text of a question or a command: that may hold private data.
func purpose(r term.SecretRequest) string {
	switch {
	case r.Sudo:
		return fmt.Sprintf("sudo of %s, command sha256:%x", where(r.Peer), sha256.Sum256([]byte(r.Command)))
	case r.Use == term.SecretStdin:
		return fmt.Sprintf("the input of a command of %s, command sha256:%x", where(r.Peer), sha256.Sum256([]byte(r.Command)))
	case r.Use == term.SecretTerminal:
		return fmt.Sprintf("a terminal of %s, question sha256:%x", where(r.Peer), sha256.Sum256([]byte(r.Prompt)))
	}
	return fmt.Sprintf("the login of %s, question sha256:%x", where(r.Peer), sha256.Sum256([]byte(r.Prompt)))
}

// where describes a place.
func where(p term.Peer) string {
	switch {
	case p.Device != "":
		return p.Device
	case p.Host == "":
		return "this machine"
	case p.User != "":
		return fmt.Sprintf("%s at %s:%d", p.User, p.Host, p.Port)
	}
	return fmt.Sprintf("%s:%d", p.Host, p.Port)
}
