package consent

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"time"

	"ptyctl/internal/locked"
	"ptyctl/term"
)

// The most questions that are kept, of one principal and in all. Further ones are not asked: no person could read them.
const (
	maxOfOne = 20
	maxOfAll = 200
)

// Options configure a Book. The zero value works.
type Options struct {
	TTL     time.Duration    // of a question and of its answer, from when it is asked; 0: 10 min
	Journal term.Journal     // records an answer before it counts; nil: none
	Observe func(term.Event) // gets an event for each question and answer; nil: none
	Changed func()           // called without a lock when the result of List may have changed; nil: no call
}

// An Outcome is the result of a question.
type Outcome int

// The outcomes.
const (
	Waiting Outcome = iota // no answer yet; the question stays
	Agreed                 // this call may be made, once
	Denied                 // a person has denied it
	Expired                // no answer came in time, or its session has ended
)

// A Question is a call that waits for a person.
type Question struct {
	ID      string
	Wanted  term.Consent
	Actor   term.Actor // the caller
	Session string     // empty: the call names a host, or starts a program
	Verb    term.Verb  // the verb of the call
	Action  string     // as Call.Action
	Since   time.Time
	Expires time.Time
	Waits   bool // a call waits for the answer now; otherwise it counts for the same call when that is made again

	// Value is the answer to a question for a value, in the result of Ask alone. The caller clears it.
	Value []byte
}

// A Book holds questions and answers. Make it with NewBook.
type Book struct {
	o    Options
	hash hasher

	telling sync.Mutex // held while ends are reported; locked before mu

	mu      sync.Mutex // guards the following
	ttl     time.Duration
	entries map[fingerprint]*entry
	ended   []ending // not yet reported
	closed  bool
}

// An entry is a question, and its answer until that is used.
type entry struct {
	Question
	done    chan struct{} // closed when outcome is set
	outcome Outcome
	value   []byte      // the answer, if Wanted.Value
	waiting int         // calls
	expiry  *time.Timer // runs Book.expire at Expires
}

// NewBook makes an empty Book.
func NewBook(o Options) *Book {
	return &Book{
		o: o, hash: newHasher(), ttl: cmp.Or(o.TTL, 10*time.Minute), entries: make(map[fingerprint]*entry),
	}
}

// SetTTL changes Options.TTL, for questions from now on.
func (b *Book) SetTTL(ttl time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ttl = ttl
}

// Ask asks a person about a call and waits for the answer, at most for the given time. If the call was made before and
// its question has an answer, that is used up.
func (b *Book) Ask(ctx context.Context, c Call, wait time.Duration) (Outcome, Question, error) {
	key := b.hash.of(c)
	over := time.NewTimer(wait)
	defer over.Stop()
	for {
		e, asked, err := b.enter(key, c)
		if err != nil {
			return Denied, Question{}, err
		}
		if asked {
			b.observe(e.Question, e.Actor, "asked")
			b.changed()
		}
		if c.Asked != nil {
			c.Asked(e.Question, e.done)
			c.Asked = nil
		}
		expires := time.NewTimer(time.Until(e.Expires))
		select {
		case <-e.done:
		case <-expires.C:
		case <-over.C:
		case <-ctx.Done():
		}
		expires.Stop()
		canceled := ctx.Err() != nil
		outcome, value, used := b.leave(key, e, !canceled)
		switch {
		case canceled:
			return Waiting, e.Question, context.Cause(ctx)
		case used:
			q := e.Question
			q.Value = value
			return outcome, q, nil
		case outcome == Waiting:
			return Waiting, e.Question, nil
		}
		// Another call like this one has used the answer up.
	}
}

// enter returns the entry of a call, and whether it is new. The call then waits at it, until leave.
func (b *Book) enter(key fingerprint, c Call) (e *entry, asked bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sweep()
	e = b.entries[key]
	if e == nil && b.closed {
		return nil, false, term.Errorf(term.Canceled, "no person can be asked: ptyctl ends")
	}
	if e == nil {
		by := c.Actor.Principal()
		ofOne := 0
		for _, other := range b.entries {
			if other.Actor.Principal() == by {
				ofOne++
			}
		}
		if ofOne >= maxOfOne || len(b.entries) >= maxOfAll {
			return nil, false, term.Errorf(term.LimitExceeded,
				"%d questions wait for a person already; none is added until some of them are answered or expire",
				len(b.entries))
		}
		now := time.Now()
		e = &entry{done: make(chan struct{}), Question: Question{
			ID: "q-" + rand.Text()[:16], Wanted: c.Wanted, Actor: c.Actor, Session: c.Session, Verb: c.Verb, Action: c.Action,
			Since: now, Expires: now.Add(b.ttl),
		}}
		e.expiry = time.AfterFunc(b.ttl, b.expire)
		b.entries[key] = e
		asked = true
	}
	e.waiting++
	return e, asked, nil
}

// leave ends the wait of a call, and returns the outcome. used reports whether it is for this call: an answer is for
// one, and for none that was canceled.
func (b *Book) leave(key fingerprint, e *entry, uses bool) (outcome Outcome, value []byte, used bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sweep()
	e.waiting--
	switch {
	case e.outcome == Waiting:
		return Waiting, nil, false
	case e.outcome == Expired: // which is so for all that wait
		return Expired, nil, true
	case b.entries[key] != e || !uses:
		return e.outcome, nil, false
	}
	delete(b.entries, key)
	e.expiry.Stop()
	value, e.value = e.value, nil
	return e.outcome, value, true
}

// List returns the questions without an answer, the oldest first.
func (b *Book) List() (list []Question) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sweep()
	for _, e := range b.entries {
		if e.outcome == Waiting {
			q := e.Question
			q.Waits = e.waiting > 0
			list = append(list, q)
		}
	}
	slices.SortFunc(list, func(x, y Question) int { return cmp.Or(x.Since.Compare(y.Since), cmp.Compare(x.ID, y.ID)) })
	return list
}

// Answer answers a question in the name of ctx's actor. The error is NotFound unless the question waits for an answer.
// A question for a value can only be denied so.
func (b *Book) Answer(ctx context.Context, id string, agrees bool) error {
	return b.answer(ctx, id, agrees, nil)
}

// Give answers a question for a value. It copies the value.
func (b *Book) Give(ctx context.Context, id string, value []byte) error {
	return b.answer(ctx, id, true, value)
}

func (b *Book) answer(ctx context.Context, id string, agrees bool, value []byte) error {
	by := term.ActorFrom(ctx)
	said := "denied"
	if agrees {
		said = "agreed"
	}
	e := b.find(id)
	switch {
	case e == nil:
		return gone(id)
	case agrees && e.Wanted.Value && len(value) == 0:
		return term.Errorf(term.InvalidArgument, "this question asks for the value of a secret, which is not empty")
	case !e.Wanted.Value && value != nil:
		return term.Errorf(term.InvalidArgument, "this question takes yes or no, and no text")
	}
	if b.o.Journal != nil {
		if err := b.o.Journal(event(e.Question, by, said)); err != nil {
			return term.Errorf(term.IOError, "the audit log is not writable, so the answer does not count: %w", err)
		}
	}
	if !b.settle(id, agrees, value) {
		return gone(id)
	}
	b.observe(e.Question, by, said)
	b.changed()
	return nil
}

func gone(id string) error {
	return term.Errorf(term.NotFound,
		"question %s waits for no answer: it was answered, has expired, or its session has ended; list the questions again",
		term.ForeignLine(id, 64))
}

// find returns the entry that waits for an answer under an id, or nil.
func (b *Book) find(id string) *entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sweep()
	return b.findLocked(id)
}

// findLocked is find. Requires b.mu.
func (b *Book) findLocked(id string) *entry {
	for _, e := range b.entries {
		if e.ID == id && e.outcome == Waiting {
			return e
		}
	}
	return nil
}

// settle sets the answer of a question. It reports false if none waits under the id.
func (b *Book) settle(id string, agrees bool, value []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sweep()
	e := b.findLocked(id)
	if e == nil {
		return false
	}
	e.outcome = Denied
	if agrees {
		e.outcome = Agreed
	}
	if len(value) > 0 {
		e.value = locked.Clone(value) // it may wait for minutes until a call uses it
	}
	close(e.done)
	return true
}

func (b *Book) changed() {
	if b.o.Changed != nil {
		b.o.Changed()
	}
}

func (b *Book) observe(q Question, by term.Actor, said string) {
	if b.o.Observe != nil {
		b.o.Observe(event(q, by, said))
	}
}

// event returns the event for the audit log about a question: asked, agreed, denied, expired or withdrawn. Typed text
// is never recorded.
func event(q Question, by term.Actor, said string) term.Event {
	e := term.Event{
		Time: time.Now(), Verb: term.VerbConsent, Session: q.Session, Protocol: q.Wanted.Protocol, Host: q.Wanted.Host,
		Actor: by, Consent: q.Wanted.Rule, State: said,
		Detail: fmt.Sprintf("question %s about %s", q.ID, q.Verb),
	}
	if said != "asked" {
		e.Detail += ", asked by " + caller(q.Actor)
	}
	if q.Wanted.Secret != "" {
		e.Detail += ", named " + q.Wanted.Secret // the log hides the text after the word secret
	}
	if q.Wanted.Typed {
		e.Size, e.Sensitive = len(q.Wanted.Text), true
	} else {
		e.Command = q.Wanted.Text
	}
	return e
}

// caller describes a caller in a line of the audit log.
func caller(a term.Actor) string {
	text := cmp.Or(a.Client, "a client") + " over " + cmp.Or(a.Transport, "the library")
	for _, part := range []struct{ name, value string }{
		{"task", a.Task}, {"token", a.Token}, {"conversation", a.Shim},
	} {
		if part.value != "" {
			text += ", " + part.name + " " + part.value
		}
	}
	return text
}
