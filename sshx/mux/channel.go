package mux

import (
	"context"
	"errors"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/term"
)

// RequestLimit is the time limit for the answer to a channel request, if the
// caller sets no limit.
const RequestLimit = 10 * time.Second

// hangUpGrace is how long Close of a shell or of a forwarded connection waits for
// the server's confirmation.
const hangUpGrace = 200 * time.Millisecond

// The limits on waiting for output after the exit status. The two come in any
// order, and a background process may keep the stream open without end. The wait
// ends after drainQuiet without output and two answers of the server, and at the
// latest after drainLimit.
//
// OpenSSH and dropbear answer in the process that sends the output, in order. Of
// other servers, which may answer in one thread while the one of the command has
// to wait, the answers prove less; drainLong is their drainQuiet.
const (
	drainQuiet = 250 * time.Millisecond
	drainLong  = 750 * time.Millisecond
	drainLimit = 2 * time.Second
)

// maxRefusal is the most bytes shown of a server's reason not to open a channel.
const maxRefusal = 500

// A Channel is an open session channel (RFC 4254 section 6.1) and the link that
// carries it.
type Channel struct {
	ssh.Channel
	k      *Link
	exit   chan term.Exit // buffered; receives the server's report of the program's end
	closed chan struct{}  // closed when both sides have closed the channel
}

// RefusedError means that the server did not open the channel, although the
// connection works.
type RefusedError struct{ *ssh.OpenChannelError }

func (e RefusedError) Unwrap() error { return e.OpenChannelError }

// openChannel opens a channel (RFC 4254 section 5.1). The library's call cannot
// be interrupted, so if ctx or the link ends first, the channel is closed as soon
// as it opens. The error is the library's, or the cause of ctx or of the link's
// end.
func (k *Link) openChannel(ctx context.Context, kind string, payload []byte) (ssh.Channel, <-chan *ssh.Request, error) {
	type result struct {
		ch   ssh.Channel
		reqs <-chan *ssh.Request
		err  error
	}
	done := make(chan result)
	gone := make(chan struct{})
	k.wg.Go(func() { // ends with the answer, or with the link
		var r result
		r.ch, r.reqs, r.err = k.Conn.OpenChannel(kind, payload)
		if refused, ok := errors.AsType[*ssh.OpenChannelError](r.err); ok {
			r.err = &ssh.OpenChannelError{
				Reason: refused.Reason, Message: term.ForeignLine(refused.Message, maxRefusal),
			}
		}
		r.err = term.ForeignError(r.err)
		select {
		case done <- r:
		case <-gone:
			if r.err == nil {
				_ = r.ch.Close()
				ssh.DiscardRequests(r.reqs)
			}
		}
	})
	select {
	case r := <-done:
		return r.ch, r.reqs, r.err
	case <-k.ctx.Done():
		close(gone)
		return nil, nil, k.Lost()
	case <-ctx.Done():
		close(gone)
		return nil, nil, context.Cause(ctx)
	}
}

// OpenSession opens a session channel. ended, if not nil, is called when both
// sides have closed it.
func (k *Link) OpenSession(ctx context.Context, ended func()) (*Channel, error) {
	ch, reqs, err := k.openChannel(ctx, "session", nil)
	var refused *ssh.OpenChannelError
	switch {
	case err == nil:
		k.served.Store(true)
		c := &Channel{Channel: ch, k: k, exit: make(chan term.Exit, 1), closed: make(chan struct{})}
		k.wg.Go(func() { c.answer(reqs, ended) })
		return c, nil
	case errors.As(err, &refused):
		return nil, RefusedError{refused}
	case ctx.Err() != nil:
		return nil, k.unanswered(ctx, "a channel")
	default:
		return nil, k.noSession(ctx, err)
	}
}

// answer handles the server's requests until the channel is closed. It must start
// with the channel: unread requests block the whole connection, and sshd drops a
// client that does not answer its keepalives, which it sends on any open channel
// (sshd_config(5) ClientAliveInterval).
func (c *Channel) answer(reqs <-chan *ssh.Request, ended func()) {
	for r := range reqs {
		if e, ok := exitOf(r); ok {
			select {
			case c.exit <- e:
			default: // the first report counts
			}
		}
		if r.WantReply {
			_ = r.Reply(false, nil)
		}
	}
	if ended != nil {
		ended()
	}
	close(c.closed)
}

// Request sends a channel request and waits for the answer until ctx ends.
func (c *Channel) Request(ctx context.Context, name string, payload []byte) (ok bool, err error) {
	return c.send(ctx, name, true, payload)
}

// Tell sends a channel request without an answer. A frozen connection does not
// even accept the request, so tell waits until ctx ends at the longest.
func (c *Channel) Tell(ctx context.Context, name string, payload []byte) error {
	_, err := c.send(ctx, name, false, payload)
	return err
}

// send sends a channel request in a goroutine, because the library's call cannot
// be interrupted.
func (c *Channel) send(ctx context.Context, name string, wantReply bool, payload []byte) (ok bool, err error) {
	type result struct {
		ok  bool
		err error
	}
	done := make(chan result, 1)
	c.k.wg.Go(func() { // ends with the answer, the channel, or the connection
		ok, err := c.SendRequest(name, wantReply, payload)
		done <- result{ok, term.ForeignError(err)}
	})
	select {
	case r := <-done:
		if r.err != nil {
			return false, c.k.broken(r.err)
		}
		return r.ok, nil
	case <-ctx.Done():
		return false, c.k.unanswered(ctx, name)
	}
}

// Drop closes the channel without waiting: Close sends a packet, which a frozen
// connection does not accept.
func (c *Channel) Drop() { c.k.wg.Go(func() { _ = c.Close() }) }

// DiscardStderr reads standard error to its end. The buffer is small, because no data is
// expected.
func (c *Channel) DiscardStderr() {
	c.k.wg.Go(func() {
		r := c.Stderr()
		for p := make([]byte, 64); ; {
			if _, err := r.Read(p); err != nil {
				return
			}
		}
	})
}

// Link returns the connection of the channel.
func (c *Channel) Link() *Link { return c.k }

// Wait returns how the program ended, after the end of its output. The exit status may come
// shortly later, so wait waits for the end of the channel, at most drainLimit.
func (c *Channel) Wait() (term.Exit, error) {
	timer := time.NewTimer(drainLimit)
	defer timer.Stop()
	select {
	case <-c.closed:
	case <-timer.C:
	}
	select {
	case exit := <-c.exit:
		return exit, nil
	default:
	}
	return term.Exit{}, c.k.LostSoon(nil) // see execution.finished
}

// HangUp closes the channel, and waits at most hangUpGrace until the server has confirmed it.
func (c *Channel) HangUp() {
	c.Drop()
	timer := time.NewTimer(hangUpGrace)
	defer timer.Stop()
	select {
	case <-c.closed:
	case <-timer.C:
	}
}
