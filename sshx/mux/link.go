package mux

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/sshx/hostkeys"
	"ptyctl/term"
)

// A Link is an authenticated connection to one hop.
type Link struct {
	Name     string   // user@host:port, for messages
	Raw      net.Conn // TCP, or a channel of the link before
	Conn     ssh.Conn
	Version  string
	Banner   string
	Method   string // the last successful authentication method
	HostKey  string
	Warnings []string
	// DialAgent connects to the agent to forward, within seconds; nil: the server must not open channels.
	DialAgent func(ctx context.Context) (net.Conn, error)
	Peer      term.Peer

	ctx    context.Context // ends with the connection; its cause is the reason
	cancel context.CancelCauseFunc
	keep   *keepalive
	served atomic.Bool // the server has opened a session channel
	wg     group       // every goroutine of this link
}

// Start starts the link's goroutines after its handshake. keys is the host key
// verifier if known_hosts may follow the server's announcements, or nil. interval and
// countMax are those of the keepalives.
func (k *Link) Start(
	chans <-chan ssh.NewChannel,
	reqs <-chan *ssh.Request,
	keys *hostkeys.Verifier,
	interval time.Duration,
	countMax int,
) {
	k.ctx, k.cancel = context.WithCancelCause(context.Background())
	k.wg.fault = func(cause error) { // cause may contain secrets, so it goes to the log only
		k.end(
			&term.Error{
				Kind: term.Internal,
				Err:  cause,
				Msg: fmt.Sprintf(
					"a fault in ptyctl ended the connection to %s; "+
						"open a new session, and report the actions before it",
					k.Name,
				),
			},
		)
	}
	k.keep = watchAlive(k, interval, countMax)
	k.wg.Go(func() { k.channels(chans) })
	k.wg.Go(func() { k.requests(reqs, keys) })
	k.wg.Go(func() {
		err := term.ForeignError(k.Conn.Wait())
		k.end(
			&term.Error{
				Kind: term.RemoteClosed,
				Err:  err,
				Msg:  fmt.Sprintf("the connection to %s was lost: %v", k.Name, err),
			},
		)
	})
}

// channels handles the channels that the server opens: agent connections if
// forwarding is on, and no others.
func (k *Link) channels(chans <-chan ssh.NewChannel) {
	for c := range chans {
		if k.DialAgent != nil && c.ChannelType() == agentChannel {
			k.wg.Go(func() { k.acceptAgent(c) }) // a goroutine, because connecting must not block other channels
			continue
		}
		_ = c.Reject(ssh.Prohibited, "ptyctl accepts no such channel")
	}
}

// end ends the link because of why; the first reason counts. It does not wait for
// the peer.
func (k *Link) end(why error) {
	k.cancel(why)
	k.keep.stop()
	// The raw connection first, so that no call waits for a frozen peer.
	_ = k.Raw.Close()
	_ = k.Conn.Close()
}

// sealLimit is how long the end of a connection waits for a write to fail.
const sealLimit = 100 * time.Millisecond

// Seal makes writing fail before the library learns that reading has ended. The
// library tells its channels about the end only once. A channel being opened at
// that moment would wait without end, if its request could still be sent. The
// first failing write is reported as a success, so seal sends one itself.
func (k *Link) Seal() {
	_ = k.Raw.Close()
	failed := make(chan struct{})
	k.wg.Go(func() {
		_, _, _ = k.Conn.SendRequest("keepalive@openssh.com", false, nil)
		close(failed)
	})
	timer := time.NewTimer(sealLimit)
	defer timer.Stop()
	select {
	case <-failed:
	case <-timer.C: // a key exchange in progress delays all writes
	}
}

// Close ends the link on request of this side.
func (k *Link) Close() { k.end(errClosedHere) }

// errClosedHere is the reason of a link closed by this side.
var errClosedHere = &term.Error{Kind: term.RemoteClosed, Msg: "the connection was closed by ptyctl"}

// Wait waits for the goroutines of an ended link.
func (k *Link) Wait() { k.wg.Wait() }

// Context returns a context that ends with the link; its cause is the reason.
func (k *Link) Context() context.Context { return k.ctx }

// Algorithms returns the negotiated algorithms.
func (k *Link) Algorithms() term.Algorithms { return negotiated(k.Conn) }

// Lost returns why the link has ended, or nil while it works.
func (k *Link) Lost() error { return context.Cause(k.ctx) }

// broken returns the error of a call that failed because the connection did.
func (k *Link) broken(err error) error {
	if lost := k.Lost(); lost != nil {
		return lost
	}
	return &term.Error{
		Kind: term.RemoteClosed,
		Err:  err,
		Msg:  fmt.Sprintf("the connection to %s broke: %v", k.Name, err),
	}
}

// notOpened returns the error of a channel that was neither opened nor refused: the connection has ended. The library
// ends its channels shortly before it says why, so notOpened waits for that: its own error would be about a packet of type
// nil.
func (k *Link) notOpened(ctx context.Context, err error) error {
	limit := time.NewTimer(drainLimit)
	defer limit.Stop()
	select {
	case <-k.ctx.Done():
	case <-limit.C:
	case <-ctx.Done():
	}
	return k.broken(err)
}

// noSession is notOpened for a session channel. An sshd ends the connection in place of the first one when it fails to set
// up the account's session, and says why in its log alone.
func (k *Link) noSession(ctx context.Context, err error) error {
	err = k.notOpened(ctx, err)
	// An end that has a cause is that of the transport, and not one that this side has decided.
	if e, ok := errors.AsType[*term.Error](err); ok && e.Kind == term.RemoteClosed && e.Err != nil && !k.served.Load() {
		named := *e // it is shared
		named.Advice = "the login had succeeded, and nothing was opened yet: the server's log may say why the connection " +
			"ended, such as its ChrootDirectory, PAM or a limit on logins"
		return &named
	}
	return err
}

// is reports whether the server names that software (RFC 4253 section 4.2).
func (k *Link) is(software string) bool { return strings.HasPrefix(k.Version, "SSH-2.0-"+software) }

// answersInOrder reports whether the server sends an answer only after all data that it had to send before the
// question, on any channel.
func (k *Link) answersInOrder() bool { return k.is("OpenSSH") || k.is("dropbear") }

// LostSoon returns why the link has ended, or nil if it works. The channels of a lost
// connection end shortly before the connection itself does. So LostSoon asks the server,
// and waits until it answers, the connection ends, or closed; at most drainLimit.
func (k *Link) LostSoon(closed <-chan struct{}) error {
	limit := time.NewTimer(drainLimit)
	defer limit.Stop()
	select {
	case <-k.ctx.Done():
		return k.Lost()
	case <-k.ask():
	case <-closed:
	case <-limit.C:
	}
	return nil
}

// unanswered returns the error of a call without an answer before the end of ctx.
func (k *Link) unanswered(ctx context.Context, what string) error {
	if err := k.Lost(); err != nil {
		return err
	}
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return &term.Error{
			Kind: term.ExecTimeout,
			Err:  context.Cause(ctx),
			Msg: fmt.Sprintf(
				"%s did not answer the request for %s in time; it may be overloaded: try again, or close the session",
				k.Name,
				what,
			),
		}
	}
	return &term.Error{
		Kind: term.Canceled,
		Err:  context.Cause(ctx),
		Msg:  "canceled before the server had answered the request for " + what,
	}
}

// AllWarnings returns the warnings about the connection.
func (k *Link) AllWarnings() []string {
	return append(slices.Clip(k.Warnings), weakWarnings(negotiated(k.Conn))...)
}

// JumpWarnings returns the warnings about the connection to a jump host, which begin with its name, without those that
// another hop has, too: they are about the files that are read for both.
func (k *Link) JumpWarnings(said []string) (all []string) {
	for _, w := range k.AllWarnings() {
		if !slices.Contains(said, w) {
			all = append(all, k.Name+": "+w)
		}
	}
	return all
}
