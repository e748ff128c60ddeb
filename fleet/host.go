package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"ptyctl/quote"
	"ptyctl/session"
	"ptyctl/session/access"
	"ptyctl/session/known"
	"ptyctl/session/shell"
	"ptyctl/term"
)

// A State is the progress or the outcome of a host of a run.
type State string

// The states.
const (
	Waiting State = "waiting" // it may still begin
	Running State = "running"
	Exited  State = "exited"  // the command has ended with an exit code
	Lost    State = "lost"    // without one: Result.Code says why
	Refused State = "refused" // by the operator's rules, or for its host key; it was not connected to
	NotRun  State = "not_run" // the run stopped before
)

// A Result is the outcome of a host so far.
type Result struct {
	State   State
	Exit    term.Exit // Exited: known; of a copy 0
	Code    string    // Lost, Refused: a word such as connect_timeout
	Reason  string    // the same for people; like hosts have like reasons
	Err     error     // the failure; nil: none
	Reached bool      // the login has succeeded
	Began   time.Time
	Took    time.Duration
	Copied  Copied // Exited, of a copy
}

// A host is a host of a run.
type host struct {
	Host
	run     *Run
	id      string // of its connection in records
	auth    *access.Authorizer
	view    *known.View   // the secrets that must not be shown
	gate    string        // the jump host before it; empty: none
	plan    term.Plan     // as it was judged
	way     way           // runs of the same way may share its connection
	consent *term.Consent // of a person; nil: none is needed
	kept    bool          // the connection is, and view with it
	stdout  *Stream
	stderr  *Stream
	ended   chan struct{} // closed when result is final

	result Result // guarded by run.mu
}

// sessionID is the id of a host's connection in records: as unique as a session's.
func sessionID(label string) string { return session.NewID(label) }

// places are where a host of a plan is reached; see term.Place.
func places(h term.PlannedHop) []string {
	all := []string{term.Place(h.Host, h.Port)}
	for _, addr := range h.Addresses {
		all = append(all, term.Place(addr.String(), h.Port))
	}
	return all
}

// account writes down where t leads, for the record.
func account(t term.Target) string {
	at := t.Host
	if t.Port != 0 {
		at = net.JoinHostPort(t.Host, strconv.Itoa(t.Port))
	}
	if t.User != "" {
		at = t.User + "@" + at
	}
	return at
}

// failed reports whether the host has not ended with exit code 0.
func (h *host) failed() bool {
	h.run.mu.Lock()
	defer h.run.mu.Unlock()
	return h.result.State != Exited || h.result.Exit.Code != 0
}

// work connects to the host and runs the command there.
func (h *host) work(ctx context.Context) {
	defer close(h.ended)
	if h.consent != nil {
		ctx = term.WithConsent(ctx, *h.consent)
	}
	began := time.Now()
	answer := h.run.set.Answer(h.Label, h.Names...)
	out := sinks{stdout: io.MultiWriter(h.stdout, answer.Stdout), stderr: io.MultiWriter(h.stderr, answer.Stderr)}
	h.view.Keep()
	for _, hop := range h.plan.Hops {
		h.view.At(places(hop)...)
	}
	res := h.visit(ctx, out)
	res.Err, res.Reason = h.view.Error(res.Err), h.view.String(res.Reason)
	if !h.kept {
		h.view.Drop()
	}
	h.stdout.close()
	h.stderr.close()
	res.Began, res.Took = began, time.Since(began)
	h.run.settle(h, res) // before its group is in a report, which may ask for it
	if res.State == Exited {
		answer.Exit(res.Exit.Code)
	} else {
		answer.Fail(res.Code, res.Reason)
	}
}

// sinks take the output of the command.
type sinks struct{ stdout, stderr io.Writer }

// visit connects, runs the command and ends the connection.
func (h *host) visit(ctx context.Context, out sinks) Result {
	t := h.Target
	d := h.auth.Begin(ctx, term.VerbOpen, term.Event{Detail: account(t)})
	err := d.PermitUnlocked(ctx, term.Action{Target: &t})
	d.End(err)
	if err != nil {
		return h.lost(ctx, err, false)
	}
	approve := h.auth.Approve(h.run.by, t)
	if conn, forget := h.run.f.idle.take(h.way); conn != nil {
		if _, err := approve(ctx, h.plan); err != nil {
			h.run.f.idle.put(h.way, conn, forget)
			return h.lost(ctx, err, false)
		}
		forget() // this host knows the secrets now
		if res, began := h.use(ctx, conn, out); began {
			return res
		}
	}
	asks := &asking{}
	conn, err := h.run.f.c.Dial(ctx, t, asks, approve)
	if err != nil {
		h.auth.Observe(term.Event{
			Verb: term.VerbState, Actor: h.run.by, From: "connecting", State: "error", Err: err,
		})
		if kind := asks.asked(); kind != "" && !errors.Is(err, term.HostKeyUnknown) {
			return Result{
				State: Lost, Code: codeAsks, Err: err,
				Reason: "the login asks (" + string(kind) + "); no person is asked for many hosts",
			}
		}
		return h.lost(ctx, err, false)
	}
	res, _ := h.use(ctx, conn, out)
	return res
}

// use runs the command on a connection. began is false if the connection has broken before that.
func (h *host) use(ctx context.Context, conn term.Transport, out sinks) (res Result, began bool) {
	h.auth.Observe(term.Event{Verb: term.VerbState, Actor: h.run.by, From: "connecting", State: "open"})
	if d, ok := conn.(term.Describer); ok && len(h.plan.Hops) > 0 {
		if key := d.Describe().HostKey; key != "" { // names with one key are one host
			h.view.At(append(places(h.plan.Hops[len(h.plan.Hops)-1]), key)...)
		}
	}
	if h.run.copying != nil {
		res = h.copyFile(ctx, conn, out.stdout)
	} else {
		res = h.exec(ctx, conn, out)
	}
	if res.State == Exited && !res.Exit.Background {
		h.kept = true
		h.run.f.idle.put(h.way, conn, h.view.Drop)
	} else {
		_ = conn.Close()
	}
	h.auth.Observe(term.Event{Verb: term.VerbState, Actor: h.run.by, From: "open", State: "closed"})
	return res, res.State == Exited || res.Exit.Started || ctx.Err() != nil || res.Err == nil ||
		!errors.Is(res.Err, term.RemoteClosed) && !errors.Is(res.Err, term.IOError) && !errors.Is(res.Err, term.ConnectFailed)
}

// exec runs the command on the connection, if it is permitted.
func (h *host) exec(ctx context.Context, conn term.Transport, out sinks) Result {
	execer, ok := conn.(term.Execer)
	if !ok {
		return h.lost(ctx, term.Errorf(term.Unsupported, "the connection runs no commands"), true)
	}
	command, id, recorded, err := h.permit(ctx, execer)
	if err != nil {
		return h.lost(ctx, err, true)
	}
	limited, stop := context.WithTimeout(ctx, h.run.r.Timeout)
	defer stop()
	began := time.Now()
	var hiding sync.WaitGroup
	spawn := func(f func()) bool { hiding.Go(f); return true }
	stdout := known.NewWriter(h.view, h.observed(out.stdout, id, "stdout"), spawn)
	stderr := known.NewWriter(h.view, h.observed(out.stderr, id, "stderr"), spawn)
	exit, err := execer.Exec(limited, term.ExecRequest{Command: command}, stdout, stderr)
	took := time.Since(began)
	stdout.End()
	stderr.End()
	hiding.Wait()
	recorded(exit, err, took, limited)
	switch {
	case err == nil && exit.Known && exit.Killed == "":
		return Result{State: Exited, Exit: exit, Reached: true}
	case limited.Err() != nil && errors.Is(context.Cause(limited), context.DeadlineExceeded) && ctx.Err() == nil:
		return Result{
			State: Lost, Exit: exit, Code: codeTimeout, Reached: true, Err: err,
			Reason: "no end within " + h.run.r.Timeout.String() + ", " + stopWords(exit),
		}
	case ctx.Err() != nil:
		why := stopWords(exit)
		if cause := context.Cause(ctx); !errors.Is(cause, errCanceled) {
			why = stopReason(ctx) + ", " + why
		}
		return Result{State: Lost, Exit: exit, Code: codeCanceled, Reached: true, Err: err, Reason: why}
	case err != nil && exit.Started:
		return Result{
			State: Lost, Exit: exit, Code: codeLost, Reached: true, Err: err,
			Reason: "the connection broke midway: exit code unknown",
		}
	case err != nil:
		return h.lost(ctx, err, true)
	}
	return Result{
		State: Lost, Exit: exit, Code: codeNoStatus, Reached: true,
		Reason: "the server ended the command without an exit status",
	}
}

// permit asks for the command as the shell there reads it, and returns the line to send. recorded ends its record.
func (h *host) permit(ctx context.Context, execer term.Execer) (
	line, id string, recorded func(term.Exit, error, time.Duration, context.Context), err error,
) {
	a := h.action()
	var once sync.Once
	class := ""
	a.FarSide = func(ctx context.Context) string {
		once.Do(func() { class = string(loginShell(ctx, execer)) })
		return class
	}
	d := h.auth.Begin(ctx, term.VerbExec, term.Event{Command: a.Command, Detail: "channel"})
	if _, err = d.Permit(ctx, a); err == nil {
		line, err = h.line(ctx, a, d.Ruling)
	}
	if err != nil {
		d.End(err)
		return "", "", nil, err
	}
	id = "exec-" + strings.ToLower(rand.Text()[:8])
	d.Event.Exec = id
	d.End(nil)
	return line, id, func(exit term.Exit, err error, took time.Duration, limited context.Context) {
		state := "ended"
		if limited.Err() != nil {
			if state = "canceled"; errors.Is(context.Cause(limited), context.DeadlineExceeded) {
				state = "timeout"
			}
		}
		h.auth.Observe(term.Event{
			Verb: term.VerbExecEnd, Actor: h.run.by, Exec: id, Detail: "channel", State: state, Exit: &exit, Err: err,
			Duration: took, Size: int(h.stdout.Total() + h.stderr.Total()),
		})
	}, nil
}

// line returns the line to send: the Gate's, or the caller's, or the caller's words quoted for the shell there.
func (h *host) line(ctx context.Context, a term.Action, ruling term.Ruling) (string, error) {
	switch {
	case ruling.Command != "":
		return ruling.Command, nil
	case a.Argv == nil:
		return a.Command, nil
	}
	plain := true // words that every shell reads alike need no question for the shell
	for _, w := range a.Argv {
		plain = plain && quote.Plain(w)
	}
	class := ""
	if !plain {
		class = a.FarSide(ctx)
	}
	line, err := quote.Line(class, a.Argv)
	if err != nil {
		return "", &term.Error{
			Op: "exec", Session: h.id, Kind: term.Unsupported, Err: err,
			Msg: "these words cannot be run one by one there: " + err.Error() + "; give a command line instead",
		}
	}
	return line, nil
}

// classLimit is how long the question for the shell may take.
const classLimit = 5 * time.Second

// loginShell asks which shell runs commands.
func loginShell(ctx context.Context, execer term.Execer) shell.Class {
	ctx, stop := context.WithTimeout(ctx, classLimit)
	defer stop()
	out := newStream(1024)
	exit, err := execer.Exec(ctx, term.ExecRequest{Command: "echo $SHELL"}, out, nil)
	if err != nil || ctx.Err() != nil || !exit.Known || exit.Code != 0 {
		return shell.Unknown
	}
	return shell.FromAnswer(out.From(0, 512).Data).Class
}

// observed returns a writer for a stream that the observers get as well.
func (h *host) observed(to io.Writer, id, name string) io.Writer {
	if !h.auth.ExecObserved() {
		return to
	}
	return observedStream{to, h, id, name}
}

// An observedStream passes output on, also to the observers.
type observedStream struct {
	to       io.Writer
	h        *host
	id, name string
}

func (o observedStream) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	o.h.auth.ObserveExec(term.Event{
		Verb: term.VerbExecOutput, Actor: o.h.run.by, Exec: o.id, Detail: o.name, Data: p[:n], Size: n,
	})
	return n, err
}

// An asking is the Prompter of a login: it notes the kind of the question, and answers nothing.
type asking struct {
	mu   sync.Mutex // guards the following
	kind term.PromptKind
}

// Prompt implements term.Prompter.
func (a *asking) Prompt(_ context.Context, q term.Prompt) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kind = q.Kind
	return "", &term.Error{
		Op: "open", Kind: term.AuthFailed, Reason: term.ReasonLoginAsks,
		Msg: "the login asks a question (" + string(q.Kind) + ")",
	}
}

// asked returns the kind of the last question, or "".
func (a *asking) asked() term.PromptKind {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.kind
}
