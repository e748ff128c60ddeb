package sshx

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/term"
)

// A Client is an authenticated connection, with the connections to the jump hosts it runs through.
// Its methods may be called by any number of goroutines.
type Client struct {
	links    []*link // the way, first hop first; the last is the connection itself
	conn     ssh.Conn
	ladder   *ladder
	warnings []string
	log      *slog.Logger
	keep     *keepalive

	closing sync.Once
	over    chan struct{} // closed when the connection has ended
	wg      sync.WaitGroup

	mu   sync.Mutex // guards the following
	lost error      // why the connection ended, if we know better than the library
}

// Dial connects to t over all its jumps. p answers what a person is asked; nil: nobody can be asked.
// The context governs dialing only; Close ends the connection. Errors are *term.Error.
func Dial(ctx context.Context, t term.Target, o Options, p term.Prompter) (*Client, error) {
	r, err := planRoute(ctx, t, o.withDefaults())
	if err != nil {
		return nil, err
	}
	return r.connect(ctx, p)
}

// connect climbs the ladder of every hop.
func (r *route) connect(ctx context.Context, p term.Prompter) (_ *Client, err error) {
	w := newWatchdog(ctx, r.limit)
	defer w.stop()
	c := &Client{ladder: new(ladder), warnings: r.warnings, log: r.log, over: make(chan struct{})}
	defer func() {
		if err != nil {
			c.ladder.end(false, rootCause(err).Error())
			c.closeLinks()
			err = r.connectError(w, c.ladder, err)
		}
	}()
	for _, h := range r.hops {
		c.ladder.hop(h.host, h.port, h.user)
		lk, err := c.extend(w, h, p)
		if err != nil {
			return nil, err
		}
		c.links = append(c.links, lk)
		c.warnings = append(c.warnings, lk.warnings...)
	}
	last := c.last()
	c.conn = last.conn
	c.keep = watchAlive(c, last.hop.keepalive, last.hop.keepaliveCount)
	c.wg.Add(1)
	go c.watch()
	return c, nil
}

// extend connects to h over the way so far.
func (c *Client) extend(w *watchdog, h *hop, p term.Prompter) (*link, error) {
	if len(c.links) == 0 {
		raw, err := dialTCP(w, h, c.ladder)
		if err != nil {
			return nil, err
		}
		return handshake(w, raw, h, c.ladder, p)
	}
	raw, err := dialThrough(w, c.last(), h, c.ladder)
	if err != nil {
		return nil, err
	}
	return handshake(w, raw, h, c.ladder, p)
}

// connectError completes the error of a connection that did not come about.
func (r *route) connectError(w *watchdog, l *ladder, err error) error {
	hops := l.snapshot()
	var e *term.Error
	switch {
	case errors.As(err, &e):
		named := *e
		e = &named
	case w.expired():
		at := hops[len(hops)-1]
		rung := "nothing"
		if n := len(at.Steps); n > 0 {
			rung = at.Steps[n-1].Name
		}
		e = term.Errorf(term.ConnectTimeout, "%s:%d was not ready within %s: it stopped at %q; raise timeouts.connect_timeout_ms if it is only slow, and check address and port", at.Host, at.Port, w.limit, rung)
	default:
		e = &term.Error{Kind: term.ConnectFailed, Err: err, Msg: "the connection was given up: " + err.Error()}
	}
	d := term.Details{}
	if e.Details != nil {
		d = *e.Details
	}
	d.Ladder = hops
	e.Op, e.Details = "open", &d
	return e
}

func (c *Client) last() *link { return c.links[len(c.links)-1] }

// watch waits for the end of the connection, whatever its cause.
func (c *Client) watch() {
	defer c.wg.Done()
	err := c.conn.Wait()
	c.keep.stop()
	c.fail(&term.Error{Kind: term.RemoteClosed, Err: err, Msg: fmt.Sprintf("the connection to %s was lost: %v", c.last().hop, err)})
	close(c.over)
	c.closeLinks()
}

// fail remembers why the connection ends; the first reason counts.
func (c *Client) fail(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost == nil {
		c.lost = why
	}
}

// Lost returns why the connection has ended, or nil while it stands.
func (c *Client) Lost() error {
	select {
	case <-c.over:
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.lost
	default:
		return nil
	}
}

// closeLinks closes every connection of the way. None of it waits for a peer.
func (c *Client) closeLinks() {
	for i := len(c.links) - 1; i >= 0; i-- {
		_ = c.links[i].raw.Close()
	}
	for _, l := range c.links {
		_ = l.conn.Close()
	}
}

// closeGrace is how long Close waits for goroutines whose connection is closed.
const closeGrace = 500 * time.Millisecond

// Close ends the connection and everything on it, at once.
func (c *Client) Close() error {
	c.closing.Do(func() {
		c.fail(&term.Error{Kind: term.RemoteClosed, Msg: "the connection was closed by ptyctl"})
		c.keep.stop()
		// The first connection is real; closing it wakes whoever is stuck writing to any of them.
		_ = c.links[0].raw.Close()
		done := make(chan struct{})
		go func() {
			c.closeLinks()
			c.wg.Wait()
			close(done)
		}()
		select {
		case <-done:
		case <-time.After(closeGrace):
		}
	})
	return nil
}

// describe says how the connection came about.
func (c *Client) describe() term.Description {
	l := c.last()
	return term.Description{
		ServerBanner: l.banner, ServerVersion: l.version, HostKey: l.keyPrint, AuthMethod: l.method,
		Algorithms: negotiated(l.conn), Ladder: c.ladder.snapshot(), Warnings: c.warnings,
	}
}
