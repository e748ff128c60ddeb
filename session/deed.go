package session

import (
	"context"
	"errors"
	"time"

	"ptyctl/term"
)

// A deed is one action of a caller, from the call until the one event that tells what became of it.
type deed struct {
	s         *Session // nil: it is no session's
	desk      *desk
	event     term.Event
	began     time.Time
	permitted bool // so that an error from here on is a failure, and no refusal
	ruling    term.Ruling
}

// begin starts the account of an action. Whoever begins one ends it, once, whatever happens.
func (s *Session) begin(ctx context.Context, verb term.Verb, e term.Event) *deed {
	d := s.desk.begin(ctx, verb, e)
	d.s = s
	return d
}

// begin is Session.begin for what is no session's.
func (k *desk) begin(ctx context.Context, verb term.Verb, e term.Event) *deed {
	e.Verb, e.Actor = verb, term.ActorFrom(ctx)
	if c := term.ConsentFrom(ctx); c != nil {
		e.Consent = c.Rule
	}
	return &deed{desk: k, event: e, began: time.Now()}
}

// permit asks whether the action may be done, and by which epoch of the lock.
func (d *deed) permit(ctx context.Context, a term.Action) (epoch uint64, err error) {
	a.Verb = d.event.Verb
	d.ruling, epoch, err = d.s.permit(ctx, a, &d.event)
	d.permitted = err == nil
	return epoch, err
}

// permitUnlocked is permit for an action that needs no lock, whoever holds it.
func (d *deed) permitUnlocked(ctx context.Context, a term.Action) (err error) {
	a.Verb = d.event.Verb
	d.ruling, err = d.desk.allowed(ctx, a, &d.event)
	d.permitted = err == nil
	return err
}

// end tells the observers. The error is the one that the caller gets.
func (d *deed) end(err error) {
	e := d.event
	e.Duration = time.Since(d.began)
	if d.permitted && !errors.Is(err, term.LimitExceeded) { // of which nothing comes either
		e.Err = err
	} else {
		e.Refused = err
	}
	d.desk.observe(e)
}
