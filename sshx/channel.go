package sshx

import (
	"context"
	"errors"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/term"
)

// requestLimit is how long a server may take to answer a request on a channel when the caller sets no limit.
const requestLimit = 10 * time.Second

// A channel is an open session channel (RFC 4254 section 6.1) and the link it belongs to.
type channel struct {
	ssh.Channel
	k      *link
	exit   chan term.Exit // buffered: how the program ended, as the server reported it
	closed chan struct{}  // closed when the channel is, on both sides
}

// errRefused means that the server opened no channel, although the connection stands.
type errRefused struct{ *ssh.OpenChannelError }

func (e errRefused) Unwrap() error { return e.OpenChannelError }

// openChannel opens a channel (RFC 4254 section 5.1). The library's call cannot be interrupted: when ctx or the link
// ends first, the channel is closed as soon as it opens. Its error is the library's, or the cause of what ended first.
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

// openSession opens a session channel. ended, if not nil, is called when an open channel has been closed on
// both sides.
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

// answer takes the server's requests until the channel is closed, from its first moment on: unread requests
// block the whole connection, and sshd drops a client that leaves its keepalives unanswered, which it sends on
// any channel there is (sshd_config(5) ClientAliveInterval).
func (c *channel) answer(reqs <-chan *ssh.Request, ended func()) {
	for r := range reqs {
		if e, ok := exitOf(r); ok {
			select {
			case c.exit <- e:
			default: // a second report: the first counts
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

// request sends a channel request and waits for its answer, as long as ctx allows.
func (c *channel) request(ctx context.Context, name string, payload []byte) (ok bool, err error) {
	return c.send(ctx, name, true, payload)
}

// tell sends a channel request that wants no answer. A frozen connection does not even take it, so nobody waits
// longer than ctx.
func (c *channel) tell(ctx context.Context, name string, payload []byte) error {
	_, err := c.send(ctx, name, false, payload)
	return err
}

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

// drop closes the channel without waiting: Close sends a packet, which a frozen connection does not take.
func (c *channel) drop() { c.k.wg.Go(func() { _ = c.Close() }) }
