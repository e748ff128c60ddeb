package sshx

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"ptyctl/internal/exhausted"
	"ptyctl/sshx/mux"
	"ptyctl/sshx/plan"
	"ptyctl/sshx/reach"
	"ptyctl/term"
)

// A Client is an authenticated connection, together with the connections to its
// jump hosts. Its methods may be called concurrently.
type Client struct {
	r        *plan.Route
	pool     *pool
	own      *mux.Link // the connection itself
	jumps    []*jump
	slots    *mux.Slots
	steps    *steps
	warnings []string
	log      *slog.Logger
	hold     term.Hold // of the context of dial, for further connections; nil: none

	closing sync.Once       // of Close
	life    context.Context // ends with Close
	end     context.CancelFunc
}

// Dial connects to t through its jump hosts. p answers questions for a person;
// with nil no question can be asked. Dial consults no policy: to have one
// consulted, open a terminal with a Dialer.
//
// ctx limits dialing only; Close ends the connection. Errors are *term.Error.
func Dial(ctx context.Context, t term.Target, o Options, p term.Prompter) (*Client, error) {
	return dial(ctx, t, o.withDefaults(), p, nil, newPool())
}

// dial is Dial with a policy and a pool of connections to jump hosts.
func dial(
	ctx context.Context,
	t term.Target,
	o Options,
	p term.Prompter,
	approve term.Approve,
	shared *pool,
) (*Client, error) {
	r, err := plan.Login(ctx, t, o.settings())
	if err != nil {
		return nil, err
	}
	w := newWatchdog(ctx, r.Limit)
	defer w.stop()
	if err := r.Judge(w.ctx, approve); err != nil {
		return nil, err
	}
	c := &Client{
		r: r, pool: shared, steps: new(steps), warnings: r.Warnings, log: o.Logger, hold: term.HoldFrom(ctx),
	}
	c.life, c.end = context.WithCancel(context.Background())
	human := &countingPrompter{p: p}
	var asker term.Prompter
	if p != nil {
		asker = human
	}
	c.own, c.jumps, err = c.connect(w, asker, c.steps)
	if err != nil {
		return nil, err
	}
	c.warnings = append(c.warnings, jumpWarnings(c.jumps, c.own.Warnings)...)
	c.warnings = append(c.warnings, c.own.AllWarnings()...)
	// Further connections of this Client must log in without questions.
	var again func(context.Context) (*mux.Link, error)
	if !human.asked() { // a second login must not ask the person again
		again = c.connectAgain
	}
	c.slots = mux.NewSlots(c.own, o.MaxConnectionsPerHost, again)
	c.slots.Env = r.OwnEnv // a caller names the variables of a command in its request
	return c, nil
}

// connect runs the steps of every hop. The connections to jump hosts come from
// the pool.
func (c *Client) connect(w *watchdog, p term.Prompter, l *steps) (own *mux.Link, jumps []*jump, err error) {
	defer func() {
		if err != nil {
			l.end(false, stepDetail(err))
			c.pool.releaseAll(jumps)
			err = connectError(w, l, c.warnings, err)
		}
	}()
	if err := lookUpTooLate(w, l, c.r.Hops[0]); err != nil {
		return nil, nil, err
	}
	end := len(c.r.Hops) - 1
	jumps, via, err := c.pool.connectJumps(w, c.r.Hops[:end], l, p)
	if err != nil {
		return nil, jumps, err
	}
	h := c.r.Hops[end]
	l.hop(h.Host, h.Port, h.User)
	own, err = c.pool.login(w, via, h, l, p)
	return own, jumps, err
}

// lookUpTooLate returns the error of a lookup for the policy that has taken all the time there was. The connection then
// stopped at this step, before its turn.
func lookUpTooLate(w *watchdog, l *steps, h *plan.Hop) error {
	if w.ctx.Err() == nil || h.LookUpErr == nil {
		return nil
	}
	l.hop(h.Host, h.Port, h.User)
	l.Begin(reach.StepDNS)
	return h.LookUpErr
}

// connectAgain makes another connection to the same target without asking a
// person. The connection releases its jump hosts when it ends.
func (c *Client) connectAgain(ctx context.Context) (*mux.Link, error) {
	if c.hold != nil {
		ctx = term.WithHold(ctx, c.hold)
	}
	w := newWatchdog(ctx, c.r.Limit)
	defer w.stop()
	k, jumps, err := c.connect(w, nil, new(steps))
	if err != nil {
		return nil, err
	}
	// The jump hosts are needed as long as the connection runs through them.
	context.AfterFunc(k.Context(), func() { c.pool.releaseAll(jumps) })
	return k, nil
}

// connectError adds the operation, the steps and the hop to the error of a failed
// connection.
func connectError(w *watchdog, l *steps, warnings []string, err error) error {
	hops := l.snapshot()
	var e *term.Error
	switch {
	// A copy, because the same error may belong to another caller as well.
	case errors.As(err, &e):
		named := *e
		e = &named
	case errors.Is(err, context.Canceled):
		e = &term.Error{Kind: term.Canceled, Err: err, Msg: "canceled before the connection was ready"}
	case w.expired():
		at := hops[len(hops)-1]
		step := "its turn" // waiting for its turn: other logins to the same host
		if n := len(at.Steps); n > 0 {
			step = at.Steps[n-1].Name
		}
		limit, from := w.limit, ""
		part, short := errors.AsType[wayTooLong](context.Cause(w.ctx))
		if short {
			limit, from = part.Limit, " (ConnectTimeout, "+part.Where+")"
		}
		e = term.Errorf(
			term.ConnectTimeout,
			"%s:%d was not ready within %s%s: it stopped at %s",
			at.Host,
			at.Port,
			limit,
			from,
			step,
		)
		if said := detailOf(at, reach.StepProxy); said != "" {
			e.Msg += "; its ProxyCommand wrote: " + said
		}
		e.Reason, e.Advice = term.ReasonSlow, "check address and port, and raise Target.ConnectTimeout if it is "+
			"only slow"
		if short {
			e.Reason, e.Advice = term.ReasonConnectTimeout, "check address and port, and that nothing on the way drops "+
				"packets; if it is only slow, raise that ConnectTimeout"
		}
		if step == reach.StepDNS {
			e = exhausted.NoNameServer(at.Host, limit)
			e.Msg += from
		}
	default:
		e = &term.Error{Kind: term.ConnectFailed, Err: err, Msg: "the connection was given up: " + err.Error()}
	}
	f := term.FactOf[term.ConnectFailure](e)
	f.Ladder, f.Warnings = hops, warnings
	if at := hops[len(hops)-1]; f.Hop == "" {
		f.Hop = plan.HopName(at.User, at.Host, at.Port)
	}
	e.Op, e.Facts = "open", e.Facts.With(f)
	return e
}

// Lost returns why the connection has ended, or nil while it works.
func (c *Client) Lost() error { return c.own.Lost() }

// Exec implements term.Execer on a channel of its own (RFC 4254 section 6.5).
func (c *Client) Exec(ctx context.Context, r term.ExecRequest, stdout, stderr io.Writer) (term.Exit, error) {
	return c.slots.Exec(ctx, r, stdout, stderr)
}

// Subsystem starts a subsystem of the server, for example sftp (RFC 4254 section
// 6.5), on a channel of its own. The channel takes one of the slots for commands.
func (c *Client) Subsystem(ctx context.Context, name string) (io.ReadWriteCloser, error) {
	return c.slots.Subsystem(ctx, name)
}

// Forward opens a connection from the server to host and port, which the server resolves (RFC 4254 section 7.2). It
// takes no slot for commands: MaxSessions of sshd_config(5) does not count it.
func (c *Client) Forward(ctx context.Context, host string, port int) (term.Stream, error) {
	s, err := c.own.Forward(ctx, host, port)
	if err != nil { // and no nil *mux.Stream in its place
		return nil, err
	}
	return s, nil
}

// closeGrace is how long Close waits for the goroutines of a closed connection.
const closeGrace = 500 * time.Millisecond

// Close ends the connection and everything on it at once. It always returns nil.
func (c *Client) Close() error {
	c.closing.Do(func() {
		// Shells and commands first: they must see the end of the Client as the
		// reason.
		c.end()
		c.slots.Close()
		done := make(chan struct{})
		go func() { // a frozen shared jump host may delay this until its keepalives fail
			defer close(done)
			c.own.Close()
			c.own.Wait()
			c.slots.Wait()
		}()
		timer := time.NewTimer(closeGrace)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
		}
		c.pool.releaseAll(c.jumps)
	})
	return nil
}

// Describe implements term.Describer: the facts about the connection.
func (c *Client) Describe() term.Description {
	k := c.own
	return term.Description{
		ServerBanner: k.Banner, ServerVersion: k.Version, HostKey: k.HostKey, AuthMethod: k.Method,
		Algorithms: k.Algorithms(), Ladder: c.steps.snapshot(), Warnings: c.warnings,
	}
}

// A countingPrompter counts the questions to a person.
type countingPrompter struct {
	p term.Prompter

	mu    sync.Mutex // guards the following
	count int
}

// Prompt counts the question and passes it on.
func (c *countingPrompter) Prompt(ctx context.Context, q term.Prompt) (string, error) {
	c.mu.Lock()
	c.count++
	c.mu.Unlock()
	return c.p.Prompt(ctx, q)
}

// asked reports whether a person was asked.
func (c *countingPrompter) asked() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count > 0
}
