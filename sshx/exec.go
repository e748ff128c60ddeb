package sshx

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"

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
	ch, free, err := c.slots.take(opening)
	if err != nil {
		return term.Exit{}, err
	}
	x := &execution{ch: ch, exit: make(chan term.Exit, 1), closed: make(chan struct{}), drained: make(chan struct{}), moved: make(chan struct{}, 1)}
	x.drain(stdout, stderr, free)
	defer x.ch.drop()
	if err := x.begin(opening, r); err != nil {
		return term.Exit{}, err
	}
	c.slots.openAhead()
	return x.wait(ctx, r.Grace)
}

// An execution is one command under way.
type execution struct {
	ch      *channel
	exit    chan term.Exit // buffered: what the server reported
	closed  chan struct{}  // the channel is closed, and with it the requests
	drained chan struct{}  // both streams have ended
	moved   chan struct{}  // buffered: output came
}

// drain starts reading everything the channel may bring, before the command starts: what is not read blocks
// the channel, and unread requests block the whole connection.
func (x *execution) drain(stdout, stderr io.Writer, free func()) {
	var open atomic.Int32
	open.Store(2)
	copyTo := func(w io.Writer, r io.Reader) {
		_, _ = io.Copy(&movedWriter{w, x.moved}, r)
		if open.Add(-1) == 0 {
			close(x.drained)
		}
	}
	wg := &x.ch.k.wg
	wg.Go(func() { copyTo(stdout, x.ch) })
	wg.Go(func() { copyTo(stderr, x.ch.Stderr()) })
	wg.Go(func() {
		for r := range x.ch.reqs {
			if e, ok := exitOf(r); ok {
				select {
				case x.exit <- e:
				default: // a second report: the first counts
				}
			}
			if r.WantReply {
				_ = r.Reply(false, nil)
			}
		}
		free() // the channel is closed on both sides, and the server's slot with it
		close(x.closed)
	})
}

// A movedWriter tells that output came.
type movedWriter struct {
	io.Writer
	moved chan<- struct{}
}

func (w *movedWriter) Write(p []byte) (int, error) {
	select {
	case w.moved <- struct{}{}:
	default:
	}
	return w.Writer.Write(p)
}

// begin starts the command, with its environment and input.
func (x *execution) begin(ctx context.Context, r term.ExecRequest) error {
	if err := x.ch.setEnv(ctx, r.Env); err != nil {
		return err
	}
	ok, err := x.ch.request(ctx, "exec", ssh.Marshal(struct{ Command string }{commandIn(r.Dir, r.Command)}))
	if err != nil {
		return err
	}
	if !ok {
		return term.Errorf(term.Unsupported, "%s refuses to run commands beside the terminal; use ptyctl_session_io write and read", x.ch.k.hop)
	}
	x.ch.k.wg.Go(func() { // ends when the input is taken, or with the channel
		_, _ = x.ch.Write(r.Stdin)
		_ = x.ch.CloseWrite()
	})
	return nil
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
		return term.Errorf(term.Unsupported, "%s does not accept %s from us (AcceptEnv in its sshd_config); nothing was run: set it in the command itself, as in: env %s=... command", c.k.hop, strings.Join(refused, ", "), refused[0])
	}
	return nil
}

// commandIn prefixes a command with a change of directory, in a form that sh, csh and fish take alike.
func commandIn(dir, command string) string {
	if dir == "" {
		return command
	}
	return "cd '" + strings.ReplaceAll(dir, "'", `'\''`) + "' || exit 1; " + command
}

// wait returns how the command ended. When ctx ends first, it stops the command.
func (x *execution) wait(ctx context.Context, grace time.Duration) (term.Exit, error) {
	select {
	case <-x.closed:
		return x.finished(ctx)
	case e := <-x.exit:
		e.Background = !x.settle(ctx)
		return e, nil
	case <-ctx.Done():
		return x.stop(grace), nil
	}
}

// finished is the outcome of a channel that is closed.
func (x *execution) finished(ctx context.Context) (term.Exit, error) {
	select {
	case <-x.drained:
	case <-ctx.Done():
	}
	select {
	case e := <-x.exit:
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
	quiet := time.NewTimer(drainQuiet)
	defer quiet.Stop()
	for {
		select {
		case <-x.drained:
			return true
		case <-x.moved:
			quiet.Reset(drainQuiet)
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
		case e := <-x.exit:
			timer.Stop()
			e.Killed = "yes"
			return e
		case <-x.closed:
			timer.Stop()
			select {
			case e := <-x.exit:
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
