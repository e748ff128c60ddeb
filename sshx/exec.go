package sshx

import (
	"context"
	"io"
	"strings"
	"sync"
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
	ch, reqs, err := c.openSession(opening)
	if err != nil {
		return term.Exit{}, err
	}
	x := &execution{c: c, ch: ch, exit: make(chan term.Exit, 1), closed: make(chan struct{}), drained: make(chan struct{}), moved: make(chan struct{}, 1)}
	x.drain(reqs, stdout, stderr)
	defer x.end()
	if err := x.begin(opening, r); err != nil {
		return term.Exit{}, err
	}
	cancel()
	return x.wait(ctx, r.Grace)
}

// An execution is one command under way.
type execution struct {
	c       *Client
	ch      ssh.Channel
	exit    chan term.Exit // buffered: what the server reported
	closed  chan struct{}  // the channel is closed, and with it the requests
	drained chan struct{}  // both streams have ended
	moved   chan struct{}  // buffered: output came
}

// drain starts reading everything the channel may bring, before the command starts: what is not read blocks
// the channel, and unread requests block the whole connection.
func (x *execution) drain(reqs <-chan *ssh.Request, stdout, stderr io.Writer) {
	var streams sync.WaitGroup
	x.c.wg.Add(4)
	streams.Add(2)
	copyTo := func(w io.Writer, r io.Reader) {
		defer x.c.wg.Done()
		defer streams.Done()
		_, _ = io.Copy(&movedWriter{w, x.moved}, r)
	}
	go copyTo(stdout, x.ch)
	go copyTo(stderr, x.ch.Stderr())
	go func() {
		defer x.c.wg.Done()
		defer close(x.closed)
		for r := range reqs {
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
	}()
	go func() {
		defer x.c.wg.Done()
		streams.Wait()
		close(x.drained)
	}()
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
	if err := x.c.setEnv(ctx, x.ch, r.Env); err != nil {
		return err
	}
	ok, err := x.c.request(ctx, x.ch, "exec", ssh.Marshal(struct{ Command string }{commandIn(r.Dir, r.Command)}))
	if err != nil {
		return err
	}
	if !ok {
		return term.Errorf(term.Unsupported, "%s refuses to run commands beside the terminal; use ptyctl_session_io write and read", x.c.last().hop)
	}
	x.c.wg.Add(1)
	go func() { // ends when the input is taken, or with the channel
		defer x.c.wg.Done()
		_, _ = x.ch.Write(r.Stdin)
		_ = x.ch.CloseWrite()
	}()
	return nil
}

// setEnv sets environment variables; one that the server refuses is an error, for a command that runs without
// it would do something else than was asked.
func (c *Client) setEnv(ctx context.Context, ch ssh.Channel, env []term.EnvVar) error {
	var refused []string
	for _, v := range env {
		ok, err := c.request(ctx, ch, "env", ssh.Marshal(struct{ Name, Value string }{v.Name, v.Value}))
		if err != nil {
			return err
		}
		if !ok {
			refused = append(refused, v.Name)
		}
	}
	if len(refused) > 0 {
		return term.Errorf(term.Unsupported, "%s does not accept %s from us (AcceptEnv in its sshd_config); nothing was run: set it in the command itself, as in: env %s=... command", c.last().hop, strings.Join(refused, ", "), refused[0])
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
	case <-x.c.over:
		return term.Exit{}, x.c.Lost()
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
		x.c.wg.Add(1)
		go func() { // a deaf connection would hold us up
			defer x.c.wg.Done()
			_, _ = x.ch.SendRequest("signal", false, ssh.Marshal(struct{ Name string }{step.signal}))
		}()
		timer := time.NewTimer(step.wait)
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

// end closes the channel. The goroutines that drain it end when the server confirms, or with the connection.
func (x *execution) end() {
	x.c.wg.Add(1)
	go func() { // Close sends a packet, which a frozen connection does not take
		defer x.c.wg.Done()
		_ = x.ch.Close()
	}()
}
