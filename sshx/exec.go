package sshx

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/quote"
	"ptyctl/term"
)

// How long output is waited for once the exit status is known, because the two come in any order and something
// in the background may hold the stream open for ever: quiet for drainQuiet, drainLimit at most.
const (
	drainQuiet = 250 * time.Millisecond
	drainLimit = 2 * time.Second
)

// Exec implements term.Execer on a channel of its own (RFC 4254 section 6.5).
func (c *Client) Exec(ctx context.Context, r term.ExecRequest, stdout, stderr io.Writer) (term.Exit, error) {
	opening, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	for again := true; ; again = false {
		ch, err := c.slots.take(opening)
		if err != nil {
			return term.Exit{}, err
		}
		x := &execution{ch: ch, drained: make(chan struct{}), moved: make(chan struct{}, 1)}
		release := x.drain(stdout, stderr)
		defer release()
		switch err := x.begin(opening, ctx, r); {
		case err == nil:
			if x.trip >= aheadGain {
				c.slots.openAhead()
			} else { // the command needs the server now more than the next one does
				defer c.slots.openAhead()
			}
			e, err := x.wait(ctx, r.Grace)
			e.Started = true
			return e, err
		case again && errors.Is(err, term.RemoteClosed) && x.neverBegan(opening):
		default:
			return term.Exit{}, err
		}
	}
}

// An execution is one command under way.
type execution struct {
	ch      *channel
	drained chan struct{} // both streams have ended
	moved   chan struct{} // buffered: output came
	trip    time.Duration // how long the server took to answer
}

// copyBuffer is the payload of one packet as OpenSSH sends it, at most.
const copyBuffer = 32 << 10

// copyBuffers holds the memory of copies that are over: two of them per command would be most of what it costs us.
var copyBuffers = sync.Pool{New: func() any { return new([copyBuffer]byte) }}

// drain starts reading both streams, before the command starts: what is not read blocks the channel. release
// closes the channel; after it, nothing is written to stdout and stderr any more.
func (x *execution) drain(stdout, stderr io.Writer) (release func()) {
	var open atomic.Int32
	open.Store(2)
	copyTo := func(w *outWriter, r io.Reader) {
		p := copyBuffers.Get().(*[copyBuffer]byte)
		defer copyBuffers.Put(p)
		_, _ = io.CopyBuffer(w, r, p[:])
		if open.Add(-1) == 0 {
			close(x.drained)
		}
	}
	out, errs := &outWriter{w: stdout, moved: x.moved}, &outWriter{w: stderr, moved: x.moved}
	x.ch.k.wg.Go(func() { copyTo(out, x.ch) })
	x.ch.k.wg.Go(func() { copyTo(errs, x.ch.Stderr()) })
	return func() {
		x.ch.drop()
		out.detach()
		errs.detach()
	}
}

// An outWriter passes on output until it is detached, or w fails, and tells that some came.
type outWriter struct {
	moved chan<- struct{}

	mu sync.Mutex // guards the following, and is held while w is written to
	w  io.Writer
}

func (o *outWriter) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, err := o.w.Write(p); err != nil {
		o.w = io.Discard
	}
	select {
	case o.moved <- struct{}{}:
	default:
	}
	return len(p), nil
}

// detach drops what comes from now on. It is still read: the server may not see that the channel is closed while
// its output is stuck.
func (o *outWriter) detach() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.w = io.Discard
}

// begin starts the command, with its environment and input.
//
// Preparing it may take as long as opening allows. Once the command is asked for, it may run, however late the server
// says so: from then on only the command's own time counts.
func (x *execution) begin(opening, ctx context.Context, r term.ExecRequest) error {
	command, err := commandIn(r.Dir, r.Command)
	if err != nil {
		return err
	}
	if err := x.ch.setEnv(opening, r.Env); err != nil {
		return err
	}
	asked := time.Now()
	ok, err := x.ch.request(ctx, "exec", ssh.Marshal(struct{ Command string }{command}))
	if err != nil && ctx.Err() != nil {
		return nil //nolint:nilerr // it may run: wait finds the time over, and stops it
	}
	if err != nil {
		return err
	}
	x.trip = time.Since(asked)
	if !ok {
		return term.Errorf(
			term.Unsupported,
			"%s refuses to run commands beside the terminal; use ptyctl_session_io write and read",
			x.ch.k.hop,
		)
	}
	x.ch.k.wg.Go(func() { // ends when the input is taken, or with the channel
		_, _ = x.ch.Write(r.Stdin)
		_ = x.ch.CloseWrite()
	})
	return nil
}

// neverBegan reports whether the server closed the channel, and not the connection, without an answer to the
// request: dropbear does that to a channel opened while another process ends, and has run nothing then.
func (x *execution) neverBegan(ctx context.Context) bool {
	select {
	case <-x.ch.closed:
		return x.ch.k.lost() == nil
	case <-ctx.Done():
		return false
	}
}

// setEnv sets environment variables; one that the server refuses is an error, for a command that runs without
// it would do something else than was asked.
func (c *channel) setEnv(ctx context.Context, env []term.EnvVar) error {
	var refused []string
	for _, v := range env {
		ok, err := c.request(ctx, "env", ssh.Marshal(struct{ Name, Value string }{v.Name, v.Value}))
		if err != nil {
			return err
		}
		if !ok {
			refused = append(refused, v.Name)
		}
	}
	if len(refused) > 0 {
		return term.Errorf(
			term.Unsupported,
			"%s does not accept %s from us (AcceptEnv in its sshd_config); nothing was run: set it in the command itself, as in: env %s=... command",
			c.k.hop,
			strings.Join(refused, ", "),
			refused[0],
		)
	}
	return nil
}

// commandIn prefixes a command with a change of directory, in a form that sh, csh and fish take alike. A line end has no
// such form: csh would run what follows it.
func commandIn(dir, command string) (string, error) {
	if dir == "" {
		return command, nil
	}
	if dir[0] == '-' || dir[0] == '+' { // cd would take it for an option, or for a directory before
		dir = "./" + dir
	}
	word, err := quote.Word(quote.Posix, dir)
	if err != nil || strings.ContainsFunc(dir, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", term.Errorf(
			term.InvalidArgument,
			"the working directory %q holds a control character; give a path without",
			dir,
		)
	}
	return "cd " + word + " || exec false; " + command, nil // csh goes on behind || exit
}

// wait returns how the command ended. When ctx ends first, it stops the command.
func (x *execution) wait(ctx context.Context, grace time.Duration) (term.Exit, error) {
	select {
	case <-x.ch.closed:
		return x.finished(ctx)
	case e := <-x.ch.exit:
		e.Background = !x.settle(ctx)
		return e, nil
	case <-ctx.Done():
		e := x.stop(grace)
		if e.Known {
			return e, nil
		}
		// A connection that is lost takes the session, and with it ctx, along: that is no timeout.
		select {
		case <-x.ch.closed:
		default:
			return e, nil
		}
		select {
		case <-x.ch.k.ctx.Done():
			return e, x.ch.k.lost()
		case <-time.After(drainQuiet):
			return e, nil
		}
	}
}

// finished is the outcome of a channel that is closed.
func (x *execution) finished(ctx context.Context) (term.Exit, error) {
	select {
	case <-x.drained:
	case <-ctx.Done():
	}
	select {
	case e := <-x.ch.exit:
		return e, nil
	default:
	}
	// A channel ends without a status either because the server sends none, or because all of it is gone.
	// The channels of a lost connection end an instant before the connection itself does.
	select {
	case <-x.ch.k.ctx.Done():
		return term.Exit{}, x.ch.k.lost()
	case <-time.After(drainQuiet):
		return term.Exit{}, nil
	}
}

// settle waits for the rest of the output after the exit status. It reports false if the streams did not end.
func (x *execution) settle(ctx context.Context) bool {
	limit := time.NewTimer(drainLimit)
	defer limit.Stop()
	pause := max(drainQuiet, 2*x.trip) // a full window takes a round trip to open again
	quiet := time.NewTimer(pause)
	defer quiet.Stop()
	for {
		select {
		case <-x.drained:
			return true
		case <-x.moved:
			quiet.Reset(pause)
		case <-quiet.C:
			return false
		case <-limit.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// stop ends a command that has run out of time: TERM, then KILL, then the channel. Only a report of the server
// proves that it is gone; a server that refuses signals leaves that unknown.
func (x *execution) stop(grace time.Duration) term.Exit {
	if grace <= 0 {
		grace = 2 * time.Second
	}
	for _, step := range []struct {
		signal string
		wait   time.Duration
	}{{"TERM", grace}, {"KILL", time.Second}} {
		timer := time.NewTimer(step.wait)
		x.ch.k.wg.Go(func() { // a deaf connection would hold us up
			_, _ = x.ch.SendRequest("signal", false, ssh.Marshal(struct{ Name string }{step.signal}))
		})
		select {
		case e := <-x.ch.exit:
			timer.Stop()
			e.Killed = "yes"
			return e
		case <-x.ch.closed:
			timer.Stop()
			select {
			case e := <-x.ch.exit:
				e.Killed = "yes"
				return e
			default:
				return term.Exit{Killed: "unknown"}
			}
		case <-timer.C:
		}
	}
	return term.Exit{Killed: "unknown"}
}
