package session

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"ptyctl/term"
)

// A desk is where actions on one session, or on the files of this machine, are judged and put on record.
type desk struct {
	session        string // empty: none
	protocol, host string
	user           string // as the opener named it
	gate           term.Gate
	journal        term.Journal
	observers      []term.Observer
	log            *slog.Logger
	far            atomic.Pointer[term.PlannedHop] // what the host is by the plan on which the session was opened; nil: not planned
}

// judged asks the Gate.
func (k *desk) judged(ctx context.Context, a term.Action) (term.Ruling, error) {
	if k.gate == nil {
		return term.Ruling{}, nil
	}
	a.Session, a.Protocol, a.Host, a.User, a.Actor = k.session, k.protocol, k.host, k.user, term.ActorFrom(ctx)
	a.Far = k.far.Load()
	return k.gate(ctx, a)
}

// allowed asks the Gate, and has the action put on record in the form in which it is allowed.
func (k *desk) allowed(ctx context.Context, a term.Action, e *term.Event) (term.Ruling, error) {
	ruling, err := k.judged(ctx, a)
	if err != nil {
		return term.Ruling{}, err
	}
	if ruling.Command != "" {
		e.Command = ruling.Command
	}
	if ruling.Reported != nil {
		e.Reported = ruling.Reported
	}
	if k.journal != nil {
		if err := k.journal(k.stamp(*e)); err != nil {
			return term.Ruling{}, &term.Error{
				Op:      string(a.Verb),
				Session: k.session,
				Kind:    term.PolicyDenied,
				Msg:     "the audit journal could not be written, so nothing was done; the operator must mend it",
				Err:     err,
			}
		}
	}
	return ruling, nil
}

// observe tells every Observer of e.
func (k *desk) observe(e term.Event) {
	if len(k.observers) == 0 {
		return
	}
	e = k.stamp(e)
	for _, o := range k.observers {
		tell(k.log, o, e)
	}
}

// stamp says when and where e happens.
func (k *desk) stamp(e term.Event) term.Event {
	e.Time, e.Session, e.Protocol, e.Host = time.Now(), k.session, k.protocol, k.host
	return e
}

// tell contains a panic of o: what is told after the fact must not change it.
func tell(log *slog.Logger, o term.Observer, e term.Event) {
	defer func() {
		if r := recover(); r != nil {
			log.Error(
				"panic in an observer",
				"session",
				e.Session,
				"verb",
				string(e.Verb),
				"panic",
				fmt.Sprint(r),
				"stack",
				stack(),
			)
		}
	}()
	o.Observe(e)
}
