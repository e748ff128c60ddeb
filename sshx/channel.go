package sshx

import (
	"context"
	"errors"
	"time"

	"golang.org/x/crypto/ssh"
)

// requestLimit is how long a server may take to answer a request on a channel when the caller sets no limit.
const requestLimit = 10 * time.Second

// A channel is an open session channel (RFC 4254 section 6.1) and the link it belongs to.
type channel struct {
	ssh.Channel
	k    *link
	reqs <-chan *ssh.Request
}

// errRefused means that the server opened no channel, although the connection stands.
type errRefused struct{ *ssh.OpenChannelError }

func (e errRefused) Unwrap() error { return e.OpenChannelError }

// openSession opens a session channel. The library's call cannot be interrupted: when ctx ends first, the
// channel is closed as soon as it opens.
func (k *link) openSession(ctx context.Context) (*channel, error) {
	type result struct {
		ch   ssh.Channel
		reqs <-chan *ssh.Request
		err  error
	}
	done := make(chan result)
	gone := make(chan struct{})
	k.wg.Go(func() {
		var r result
		r.ch, r.reqs, r.err = k.conn.OpenChannel("session", nil)
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
		var refused *ssh.OpenChannelError
		switch {
		case r.err == nil:
			return &channel{Channel: r.ch, k: k, reqs: r.reqs}, nil
		case errors.As(r.err, &refused):
			return nil, errRefused{refused}
		default:
			return nil, k.broken(r.err)
		}
	case <-ctx.Done():
		close(gone)
		return nil, k.unanswered(ctx, "a channel")
	}
}

// request sends a channel request and waits for its answer, as long as ctx allows.
func (c *channel) request(ctx context.Context, name string, payload []byte) (ok bool, err error) {
	type result struct {
		ok  bool
		err error
	}
	done := make(chan result, 1)
	c.k.wg.Go(func() { // ends with the answer, the channel, or the connection
		ok, err := c.SendRequest(name, true, payload)
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

// tell sends a channel request that wants no answer. A frozen connection does not even take it, so nobody waits
// longer than ctx.
func (c *channel) tell(ctx context.Context, name string, payload []byte) error {
	done := make(chan error, 1)
	c.k.wg.Go(func() {
		_, err := c.SendRequest(name, false, payload)
		done <- err
	})
	select {
	case err := <-done:
		if err != nil {
			return c.k.broken(err)
		}
		return nil
	case <-ctx.Done():
		return c.k.unanswered(ctx, name)
	}
}

// drop closes the channel without waiting: Close sends a packet, which a frozen connection does not take.
func (c *channel) drop() { c.k.wg.Go(func() { _ = c.Close() }) }

// abandon drops a channel that nobody has begun to read.
func (c *channel) abandon() {
	c.k.wg.Go(func() { ssh.DiscardRequests(c.reqs) })
	c.drop()
}
