package sshx

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/term"
)

// requestLimit is how long a server may take to answer a request on a channel when the caller sets no limit.
const requestLimit = 10 * time.Second

// openSession opens a session channel (RFC 4254 section 6.1). The library's call cannot be interrupted: when
// ctx ends first, the channel is closed as soon as it opens.
func (c *Client) openSession(ctx context.Context) (ssh.Channel, <-chan *ssh.Request, error) {
	type result struct {
		ch   ssh.Channel
		reqs <-chan *ssh.Request
		err  error
	}
	done := make(chan result)
	gone := make(chan struct{})
	c.wg.Add(1)
	go func() {
		defer c.wg.Done()
		var r result
		r.ch, r.reqs, r.err = c.conn.OpenChannel("session", nil)
		select {
		case done <- r:
		case <-gone:
			if r.err == nil {
				_ = r.ch.Close()
				ssh.DiscardRequests(r.reqs)
			}
		}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return nil, nil, c.channelError(r.err)
		}
		return r.ch, r.reqs, nil
	case <-ctx.Done():
		close(gone)
		return nil, nil, c.requestError(ctx, "a channel")
	}
}

// channelError says why no channel was opened.
func (c *Client) channelError(err error) error {
	var refused *ssh.OpenChannelError
	if errors.As(err, &refused) {
		return &term.Error{Kind: term.LimitExceeded, Err: err, Msg: fmt.Sprintf("%s opened no further channel on this connection: %s (%s); it may limit them (MaxSessions): try again when a command has ended", c.last().hop, refused.Message, refused.Reason)}
	}
	return c.broken(err)
}

// broken is the error of a call that failed because the connection did.
func (c *Client) broken(err error) error {
	if lost := c.Lost(); lost != nil {
		return lost
	}
	return &term.Error{Kind: term.RemoteClosed, Err: err, Msg: fmt.Sprintf("the connection to %s broke: %v", c.last().hop, err)}
}

// requestError is the error of a call that the server did not answer in time.
func (c *Client) requestError(ctx context.Context, what string) error {
	if err := c.Lost(); err != nil {
		return err
	}
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return &term.Error{Kind: term.ExecTimeout, Err: context.Cause(ctx), Msg: fmt.Sprintf("%s did not answer the request for %s in time; it may be overloaded: try again, or close the session", c.last().hop, what)}
	}
	return &term.Error{Kind: term.Canceled, Err: context.Cause(ctx), Msg: "canceled before the server had answered the request for " + what}
}

// request sends a channel request and waits for its answer, as long as ctx allows.
func (c *Client) request(ctx context.Context, ch ssh.Channel, name string, payload []byte) (ok bool, err error) {
	type result struct {
		ok  bool
		err error
	}
	done := make(chan result, 1)
	c.wg.Add(1)
	go func() { // ends with the answer, the channel, or the connection
		defer c.wg.Done()
		ok, err := ch.SendRequest(name, true, payload)
		done <- result{ok, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return false, c.broken(r.err)
		}
		return r.ok, nil
	case <-ctx.Done():
		return false, c.requestError(ctx, name)
	}
}
