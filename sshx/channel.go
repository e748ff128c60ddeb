package sshx

import (
	"context"
	"errors"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/term"
)

// requestLimit is the time limit for the answer to a channel request, if the
// caller sets no limit.
const requestLimit = 10 * time.Second

// hangUpGrace is how long Close of a shell or of a forwarded connection waits for
// the server's confirmation.
const hangUpGrace = 200 * time.Millisecond

// The limits on waiting for output after the exit status. The two come in any
// order, and a background process may keep the stream open without end. The wait
// ends after drainQuiet without output, and at the latest after drainLimit.
const (
	drainQuiet = 250 * time.Millisecond
	drainLimit = 2 * time.Second
)

// A channel is an open session channel (RFC 4254 section 6.1) and the link that
// carries it.
type channel struct {
	ssh.Channel
	k      *link
	exit   chan term.Exit // buffered; receives the server's report of the program's end
	closed chan struct{}  // closed when both sides have closed the channel
}

// errRefused means that the server did not open the channel, although the
// connection works.
type errRefused struct{ *ssh.OpenChannelError }

func (e errRefused) Unwrap() error { return e.OpenChannelError }

// openChannel opens a channel (RFC 4254 section 5.1). The library's call cannot
// be interrupted, so if ctx or the link ends first, the channel is closed as soon
// as it opens. The error is the library's, or the cause of ctx or of the link's
// end.
func (k *link) openChannel(ctx context.Context, kind string, payload []byte) (ssh.Channel, <-chan *ssh.Request, error) {
	type result struct {
		ch   ssh.Channel
		reqs <-chan *ssh.Request
		err  error
	}
	done := make(chan result)
	gone := make(chan struct{})
	k.wg.Go(func() { // ends with the answer, or with the link
		var r result
		r.ch, r.reqs, r.err = k.conn.OpenChannel(kind, payload)
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
		return nil, nil, k.lost()
	case <-ctx.Done():
		close(gone)
		return nil, nil, context.Cause(ctx)
	}
}

// openSession opens a session channel. ended, if not nil, is called when both
// sides have closed it.
func (k *link) openSession(ctx context.Context, ended func()) (*channel, error) {
	ch, reqs, err := k.openChannel(ctx, "session", nil)
	var refused *ssh.OpenChannelError
	switch {
	case err == nil:
		c := &channel{Channel: ch, k: k, exit: make(chan term.Exit, 1), closed: make(chan struct{})}
		k.wg.Go(func() { c.answer(reqs, ended) })
		return c, nil
	case errors.As(err, &refused):
		return nil, errRefused{refused}
	case ctx.Err() != nil:
		return nil, k.unanswered(ctx, "a channel")
	default:
		return nil, k.broken(err)
	}
}

// answer handles the server's requests until the channel is closed. It must start
// with the channel: unread requests block the whole connection, and sshd drops a
// client that does not answer its keepalives, which it sends on any open channel
// (sshd_config(5) ClientAliveInterval).
func (c *channel) answer(reqs <-chan *ssh.Request, ended func()) {
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

// request sends a channel request and waits for the answer until ctx ends.
func (c *channel) request(ctx context.Context, name string, payload []byte) (ok bool, err error) {
	return c.send(ctx, name, true, payload)
}

// tell sends a channel request without an answer. A frozen connection does not
// even accept the request, so tell waits until ctx ends at the longest.
func (c *channel) tell(ctx context.Context, name string, payload []byte) error {
	_, err := c.send(ctx, name, false, payload)
	return err
}

// send sends a channel request in a goroutine, because the library's call cannot
// be interrupted.
func (c *channel) send(ctx context.Context, name string, wantReply bool, payload []byte) (ok bool, err error) {
	type result struct {
		ok  bool
		err error
	}
	done := make(chan result, 1)
	c.k.wg.Go(func() { // ends with the answer, the channel, or the connection
		ok, err := c.SendRequest(name, wantReply, payload)
		done <- result{ok, err}
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

// drop closes the channel without waiting: Close sends a packet, which a frozen
// connection does not accept.
func (c *channel) drop() { c.k.wg.Go(func() { _ = c.Close() }) }

// discardStderr reads standard error to its end. The buffer is small, because no data is
// expected.
func (c *channel) discardStderr() {
	c.k.wg.Go(func() {
		r := c.Stderr()
		for p := make([]byte, 64); ; {
			if _, err := r.Read(p); err != nil {
				return
			}
		}
	})
}

// link returns the connection of the channel.
func (c *channel) link() *link { return c.k }

// wait returns how the program ended, after the end of its output. The exit status may come
// shortly later, so wait waits for the end of the channel, at most drainLimit.
func (c *channel) wait() (term.Exit, error) {
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
	return term.Exit{}, c.k.lostSoon(nil) // see execution.finished
}

// hangUp closes the channel, and waits at most hangUpGrace until the server has confirmed it.
func (c *channel) hangUp() {
	c.drop()
	timer := time.NewTimer(hangUpGrace)
	defer timer.Stop()
	select {
	case <-c.closed:
	case <-timer.C:
	}
}
