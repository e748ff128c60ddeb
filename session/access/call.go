package access

import (
	"context"
	"errors"
	"time"

	"ptyctl/term"
)

// A Call is one action of a caller, from its beginning until the one event that says how it ended.
type Call struct {
	Event  term.Event  // as the Observers get it
	Ruling term.Ruling // of the Gate, once it is permitted
	Types  bool        // it types into the terminal

	k         *Authorizer
	began     time.Time
	permitted bool // so that an error from here on is a failure, and no refusal
}

// Begin starts the account of an action. Its caller ends it with End, once.
func (k *Authorizer) Begin(ctx context.Context, verb term.Verb, e term.Event) *Call {
	e.Verb, e.Actor, e.Step = verb, term.ActorFrom(ctx), StepFrom(ctx)
	if c := term.ConsentFrom(ctx); c != nil {
		e.Consent = c.Rule
	}
	return &Call{k: k, Event: e, Types: verb == term.VerbWrite, began: time.Now()}
}

// Permit decides whether the action may be done: the lock first, then the Gate, then the Journal, which must have it on
// record before it happens. It returns the lock's epoch.
func (c *Call) Permit(ctx context.Context, a term.Action) (epoch uint64, err error) {
	a.Verb = c.Event.Verb
	op, by := string(a.Verb), HolderOf(c.Event.Actor)
	if l := c.k.o.Lock; l != nil {
		if epoch, err = l.check(op, by, c.Types); err != nil {
			return 0, err
		}
	}
	if err = c.PermitUnlocked(ctx, a); err != nil {
		return 0, err
	}
	if l := c.k.o.Lock; l != nil { // Gate and Journal may have taken their time
		err = l.StillHeld(op, by, epoch)
		c.permitted = err == nil
	}
	return epoch, err
}

// PermitUnlocked is Permit for an action that needs no lock, whichever task holds it.
func (c *Call) PermitUnlocked(ctx context.Context, a term.Action) (err error) {
	a.Verb = c.Event.Verb
	c.Ruling, err = c.k.authorize(ctx, a, &c.Event)
	c.permitted = err == nil
	return err
}

// Permitted says whether the action was permitted, in place of Permit.
func (c *Call) Permitted(ok bool) { c.permitted = ok }

// End tells the observers. The error is the one that the caller gets.
func (c *Call) End(err error) {
	e := c.Event
	e.Duration = time.Since(c.began)
	if c.permitted && !errors.Is(err, term.LimitExceeded) { // at a limit, nothing was done either
		e.Err = err
	} else {
		e.Refused = err
	}
	c.k.Observe(e)
}
