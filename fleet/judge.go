package fleet

import (
	"context"
	"fmt"
	"sync"

	"ptyctl/fleet/nodeset"
	"ptyctl/session/shell"
	"ptyctl/term"
)

// judges is how many hosts are judged at a time: each may wait for a name server.
const judges = 32

// Refusals are the hosts for which a run did not begin (PolicyDenied).
type Refusals struct {
	Hosts []Refusal
	All   int // hosts of the run

	what string // was not done: run, or copied
}

// A Refusal is one host that is not connected to, and why.
type Refusal struct {
	Label string
	Err   error
}

// A RefusedError says that hosts are refused, and that nothing was run. It wraps a *term.Error of the kind of the first
// refusal.
type RefusedError struct {
	Refusals
	err *term.Error
}

func (e *RefusedError) Error() string { return e.err.Error() }

// Unwrap returns the *term.Error.
func (e *RefusedError) Unwrap() error { return e.err }

// judge asks about all hosts, before the first connection. It leaves the hosts that may run in state Waiting, and returns
// an error if the run must not begin.
func (r *Run) judge(ctx context.Context) error {
	verdicts := make([]error, len(r.hosts))
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(judges, len(r.hosts)) {
		wg.Go(func() {
			for i := range next {
				verdicts[i] = r.hosts[i].judge(ctx)
			}
		})
	}
	for i := range r.hosts {
		next <- i
	}
	close(next)
	wg.Wait()
	if ctx.Err() != nil {
		return &term.Error{Op: "fleet", Kind: term.Canceled, Err: ctx.Err(), Msg: "canceled before a host was connected to"}
	}
	if err := r.agree(ctx, verdicts); err != nil {
		r.refused(ctx, err)
		return err
	}
	refusals := Refusals{what: r.what()}
	for i, err := range verdicts {
		if err != nil {
			refusals.Hosts = append(refusals.Hosts, Refusal{r.hosts[i].Label, err})
		}
	}
	if refusals.All = len(r.hosts); len(refusals.Hosts) > 0 && (!r.r.SkipRefused || len(refusals.Hosts) == refusals.All) {
		err := refusals.failure()
		for i, verdict := range verdicts {
			if verdict != nil {
				r.hosts[i].refuse(ctx, verdict)
			}
		}
		return err
	}
	for i, err := range verdicts {
		if err != nil {
			r.hosts[i].refuse(ctx, err)
		}
	}
	life := term.WithEntryGate(term.WithEnvironment(r.f.life, r.env), term.EntryGateFrom(ctx))
	r.ctx, r.cancel = context.WithCancelCause(term.WithActor(life, r.by))
	return nil
}

// refused puts on record that the run was refused as a whole.
func (r *Run) refused(ctx context.Context, err error) {
	verb, e := term.VerbExec, r.event()
	if r.r.Copy != nil {
		verb = term.VerbFileWrite
	}
	e.Detail = "on " + plural(len(r.hosts), "host")
	d := r.hosts[0].auth.Begin(ctx, verb, e)
	d.End(err)
}

// what returns the verb for the work on each host.
func (r *Run) what() string {
	if r.r.Copy != nil {
		return "copied"
	}
	return "run"
}

// event is the work on each host, for the record.
func (r *Run) event() term.Event {
	if c := r.r.Copy; c != nil {
		return term.Event{Path: c.To, PartOf: term.PartOf{Copy: r.copying.id}}
	}
	return term.Event{Command: r.r.Command}
}

// maxNames is the longest list of hosts in an error, in runes.
const maxNames = 500

// failure is the error for a run with refused hosts.
func (r Refusals) failure() error {
	first := r.Hosts[0]
	e := &term.Error{Op: "fleet", Kind: term.KindOf(first.Err), Err: first.Err}
	e.Facts = e.Facts.With(term.FactOf[term.Denial](first.Err))
	var names []string
	for _, one := range r.Hosts {
		names = append(names, one.Label)
	}
	e.Msg = fmt.Sprintf("nothing was %s: %d of %s refused: %s; %s: %s", r.what, len(r.Hosts), plural(r.All, "host"),
		term.ForeignLine(nodeset.Fold(names), maxNames), first.Label, reasonOf(first.Err))
	return &RefusedError{r, e}
}

// judge asks whether this host may be connected to, and the command may run there. Nothing is sent to it.
//
// Which shell reads the command is not known yet. The rules judge it as a POSIX shell's line here, and once more when
// the shell is known.
func (h *host) judge(ctx context.Context) error {
	t := h.Target
	open := term.Action{Verb: term.VerbOpen, Target: &t}
	if _, err := h.auth.Judge(ctx, open); err != nil {
		return err
	}
	var names []string
	plan, err := h.run.f.c.Judge(ctx, t, func(ctx context.Context, p term.Plan) (term.Grant, error) {
		open.Plan = &p
		ruling, err := h.auth.Judge(ctx, open)
		names = ruling.Grant.Names
		return ruling.Grant, err
	})
	if err != nil {
		return err
	}
	h.plan, h.way = plan, way{h.run.by.Principal(), plan.String()}
	exec := h.action()
	exec.Verb = term.VerbExec
	exec.FarSide = func(context.Context) string { return string(shell.Posix) }
	if n := len(plan.Hops); n > 0 {
		far := plan.Hops[n-1]
		far.Names = names
		exec.Far = &far
		for _, a := range far.Addresses {
			h.Names = append(h.Names, a.String())
		}
		h.Names = append(h.Names, far.Host, far.Alias, t.Host)
		if n > 1 {
			h.gate = plan.Hops[n-2].User + "@" + plan.Hops[n-2].Address()
		}
	}
	if h.run.copying != nil {
		return h.judgeCopy(ctx, exec.Far)
	}
	_, err = h.auth.Judge(ctx, exec)
	return err
}

// action is the command as the Gate judges it.
func (h *host) action() term.Action {
	return term.Action{Command: h.run.r.Command, Argv: h.run.r.Argv}
}

// refuse notes that the host is not connected to, and puts it on record.
func (h *host) refuse(ctx context.Context, err error) {
	e := h.run.event()
	e.Detail = account(h.Target)
	h.auth.Begin(ctx, term.VerbOpen, e).End(err)
	code := codeOf(err)
	h.run.settle(h, Result{State: Refused, Code: code, Reason: reasonOf(err), Err: err})
	h.run.set.Answer(h.Label).Fail(code, "refused: "+reasonOf(err))
	close(h.ended)
}
