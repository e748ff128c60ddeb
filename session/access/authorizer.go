package access

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"ptyctl/term"
)

// Options describe the target of the actions to authorize, and who decides and observes. The zero value allows
// everything and keeps no record.
type Options struct {
	Session        string // empty: the files of this machine
	Protocol, Host string
	User           string // as the opener named it
	Fleet          string // the run over many hosts that the actions are parts of; empty: of none
	Gate           term.Gate
	Journal        term.Journal
	Observers      []term.Observer
	Log            *slog.Logger
	Lock           *Lock // nil: no lock is asked

	// Hide masks the secrets in events for Journal and Observers; nil: no secrets. Output is already masked.
	Hide func(term.Event) term.Event
}

// An Authorizer decides about actions on one session, or on the files of this machine, and has them put on record.
type Authorizer struct {
	o    Options
	exec []term.ExecObserver     // those of the Observers
	far  atomic.Pointer[farSide] // by the plan on which the session was opened; nil: not planned
}

// A farSide is the host of a session.
type farSide struct {
	host  term.PlannedHop
	route string // by which it is reached
}

// New makes an Authorizer.
func New(o Options) *Authorizer {
	k := &Authorizer{o: o}
	for _, one := range o.Observers {
		if e, ok := one.(term.ExecObserver); ok {
			k.exec = append(k.exec, e)
		}
	}
	return k
}

// Machine names the machine that the actions are about: by the plan on which its session was opened, or without one as
// its opener did. The name of a host behind another one means nothing elsewhere, so the whole way there belongs to it.
func (k *Authorizer) Machine() string {
	if far := k.far.Load(); far != nil {
		return k.o.Protocol + " " + far.route
	}
	return k.o.Protocol + " " + k.o.User + "@" + k.o.Host
}

// Judge asks the Gate alone.
func (k *Authorizer) Judge(ctx context.Context, a term.Action) (term.Ruling, error) {
	if k.o.Gate == nil {
		return term.Ruling{}, nil
	}
	a.Session, a.Protocol, a.Host, a.User, a.Actor = k.o.Session, k.o.Protocol, k.o.Host, k.o.User, term.ActorFrom(ctx)
	if far := k.far.Load(); far != nil {
		a.Far = &far.host
	}
	return k.o.Gate(ctx, a)
}

// authorize asks the Gate, and has the action put on record in the form in which it is allowed.
func (k *Authorizer) authorize(ctx context.Context, a term.Action, e *term.Event) (term.Ruling, error) {
	ruling, err := k.Judge(ctx, a)
	if err != nil {
		return term.Ruling{}, err
	}
	if ruling.Command != "" {
		e.Command = ruling.Command
	}
	if ruling.Reported != nil {
		e.Reported = ruling.Reported
	}
	if k.o.Journal != nil {
		// A close ends a session that cannot be recorded any more, so it is not refused; its outcome is recorded later.
		if err := k.o.Journal(k.stamped(*e)); err != nil && a.Verb != term.VerbClose {
			if said, ok := errors.AsType[*term.Error](err); ok {
				return term.Ruling{}, said
			}
			return term.Ruling{}, &term.Error{
				Op: string(a.Verb), Session: k.o.Session, Kind: term.IOError, Reason: term.ReasonUnrecorded, Err: err,
				Msg: "the audit log is not writable, so nothing was done",
			}
		}
	}
	return ruling, nil
}

// Observe tells every Observer of e. An event is large, and output comes often: with a copy for each step here, and
// not only for each Observer, output took two to three times as long to reach a recording.
func (k *Authorizer) Observe(e term.Event) {
	if len(k.o.Observers) == 0 {
		return
	}
	k.stamp(&e)
	for _, o := range k.o.Observers {
		tell(k.o.Log, o, &e)
	}
}

// ExecObserved reports whether any Observer wants the output of commands.
func (k *Authorizer) ExecObserved() bool { return len(k.exec) > 0 }

// ObserveExec passes a command's output to the Observers that want it.
func (k *Authorizer) ObserveExec(e term.Event) {
	k.stamp(&e)
	for _, o := range k.exec {
		tellExec(k.o.Log, o, &e)
	}
}

// stamp says when and where e happens.
func (k *Authorizer) stamp(e *term.Event) {
	e.Time, e.Session, e.Protocol, e.Host, e.Fleet = time.Now(), k.o.Session, k.o.Protocol, k.o.Host, k.o.Fleet
	if k.o.Hide != nil && e.Verb != term.VerbOutput && e.Verb != term.VerbExecOutput {
		*e = k.o.Hide(*e)
	}
}

// stamped returns e with the stamp.
func (k *Authorizer) stamped(e term.Event) term.Event {
	k.stamp(&e)
	return e
}

// Tell passes e to an Observer and contains its panic: an observation must not change the outcome.
func Tell(log *slog.Logger, o term.Observer, e term.Event) { tell(log, o, &e) }

func tell(log *slog.Logger, o term.Observer, e *term.Event) {
	defer contain(log, e)
	o.Observe(*e)
}

func tellExec(log *slog.Logger, o term.ExecObserver, e *term.Event) {
	defer contain(log, e)
	o.ObserveExec(*e)
}

// contain ends a panic of an Observer. It must be deferred.
func contain(log *slog.Logger, e *term.Event) {
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
			string(debug.Stack()),
		)
	}
}

// Record puts e on record, for an action that nothing but the lock decides about.
func (k *Authorizer) Record(e term.Event) error {
	if k.o.Journal == nil {
		return nil
	}
	return k.o.Journal(k.stamped(e))
}
