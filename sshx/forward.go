package sshx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/term"
)

// dialThrough opens a channel to the next hop on the link before it (RFC 4254 section 7.2).
func dialThrough(w *watchdog, via *link, h *hop, l *ladder) (net.Conn, error) {
	l.begin(stepTCP)
	ch, reqs, err := via.openChannel(w.ctx, "direct-tcpip", ssh.Marshal(struct {
		Host       string
		Port       uint32
		OriginHost string
		OriginPort uint32
	}{h.host, uint32(h.port), "127.0.0.1", 0}))
	var refused *ssh.OpenChannelError
	switch {
	case err == nil:
		l.address("via " + via.hop.String())
		return forward(via, ch, reqs, h.address()), nil
	case errors.As(err, &refused):
		return nil, &term.Error{
			Kind: term.ConnectFailed,
			Err:  err,
			Msg: fmt.Sprintf(
				"the jump host %s did not connect to %s: %s (%s); check that it may forward there",
				via.hop,
				h.address(),
				refused.Message,
				refused.Reason,
			),
		}
	case w.ctx.Err() != nil:
		return nil, context.Cause(w.ctx)
	default:
		return nil, &term.Error{
			Kind: term.ConnectFailed,
			Err:  err,
			Msg:  fmt.Sprintf("the connection to the jump host %s broke: %v; try again", via.hop, err),
		}
	}
}

// A forwardConn is a direct-tcpip channel as a net.Conn. Closing it wakes its readers and writers at once,
// which closing the channel would not: a jump host that is frozen never confirms that.
type forwardConn struct {
	net.Conn // a pipe to the goroutines that copy
	remote   net.Addr
	closing  sync.Once
	closed   chan struct{} // closed by Close
	over     chan struct{} // closed when the channel is done with
}

// forward joins ch to a connection, with goroutines that end with the channel or the link it is on. The far side's end
// is the end of both directions. Ours is passed on as one, and the far side has a moment to take what came before.
func forward(via *link, ch ssh.Channel, reqs <-chan *ssh.Request, address string) *forwardConn {
	near, far := net.Pipe()
	c := &forwardConn{Conn: near, remote: forwardAddr(address), closed: make(chan struct{}), over: make(chan struct{})}
	ended := make(chan struct{})
	via.wg.Go(func() { ssh.DiscardRequests(reqs) })
	via.wg.Go(func() {
		defer close(ended)
		_, _ = io.Copy(far, ch)
		_ = far.Close()
		_, _ = io.Copy(io.Discard, ch) // what nobody reads must not keep its end from us
	})
	via.wg.Go(func() {
		defer close(c.over)
		_, _ = io.Copy(ch, far)
		_ = ch.CloseWrite()
		timer := time.NewTimer(hangUpGrace)
		defer timer.Stop()
		select {
		case <-ended:
		case <-timer.C:
		}
		_ = ch.Close()
	})
	via.wg.Go(func() { // a far side that takes nothing would hold the channel as long as the link stands
		select {
		case <-c.over:
			return
		case <-c.closed:
		}
		timer := time.NewTimer(2 * hangUpGrace)
		defer timer.Stop()
		select {
		case <-c.over:
		case <-timer.C:
			_ = ch.Close()
		}
	})
	return c
}

// Close implements net.Conn.
func (c *forwardConn) Close() error {
	c.closing.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

type forwardAddr string

func (forwardAddr) Network() string  { return "direct-tcpip" }
func (a forwardAddr) String() string { return string(a) }

func (c *forwardConn) LocalAddr() net.Addr  { return forwardAddr("ptyctl") }
func (c *forwardConn) RemoteAddr() net.Addr { return c.remote }
