package mux

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/term"
)

// Dial opens a connection from the far side of the link to host and port (RFC 4254
// section 7.2).
func (k *Link) Dial(ctx context.Context, host string, port int) (net.Conn, error) {
	address := net.JoinHostPort(host, strconv.Itoa(port))
	ch, reqs, err := k.openChannel(ctx, "direct-tcpip", directTCPIP(host, port))
	var refused *ssh.OpenChannelError
	switch {
	case err == nil:
		return forward(k, ch, reqs, address), nil
	case errors.As(err, &refused):
		return nil, &term.Error{
			Kind: term.ConnectFailed,
			Err:  err,
			Msg: fmt.Sprintf(
				"the jump host %s did not connect to %s: %s (%s)",
				k.Name,
				address,
				refused.Message,
				refused.Reason,
			),
			Advice: "check that it may forward there",
		}
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	default:
		return nil, &term.Error{
			Kind: term.ConnectFailed,
			Err:  err,
			Msg:  fmt.Sprintf("the connection to the jump host %s broke: %v", k.Name, err),

			Advice: "try again",
		}
	}
}

// A ForwardConn is a direct-tcpip channel as a net.Conn. Its Close wakes readers
// and writers at once; the channel's Close would not, because a frozen jump host
// never confirms it.
type ForwardConn struct {
	net.Conn // a pipe to the goroutines that copy
	remote   net.Addr
	closing  sync.Once
	closed   chan struct{} // closed by Close
	over     chan struct{} // closed when the copying to the channel has ended
}

// forward joins ch to a connection, with goroutines that end with the channel or
// its link. The end of the far side ends both directions. The end of this side is
// passed on, and the far side has a moment to read the data before it.
func forward(via *Link, ch ssh.Channel, reqs <-chan *ssh.Request, address string) *ForwardConn {
	// A pipe has deadlines, which a channel lacks.
	near, far := net.Pipe()
	c := &ForwardConn{Conn: near, remote: forwardAddr(address), closed: make(chan struct{}), over: make(chan struct{})}
	ended := make(chan struct{})
	via.wg.Go(func() { ssh.DiscardRequests(reqs) })
	via.wg.Go(func() {
		defer close(ended)
		_, _ = io.Copy(far, ch)
		_ = far.Close()
		_, _ = io.Copy(io.Discard, ch) // unread data must not hide the end of the channel
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
	via.wg.Go(func() { // a far side that reads nothing would keep the channel open as long as the link
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
func (c *ForwardConn) Close() error {
	c.closing.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// Flush waits until the data written before Close is sent, at most hangUpGrace.
func (c *ForwardConn) Flush() {
	timer := time.NewTimer(hangUpGrace)
	defer timer.Stop()
	select {
	case <-c.over:
	case <-timer.C:
	}
}

// A forwardAddr is the address of the far side in the form host:port.
type forwardAddr string

func (forwardAddr) Network() string  { return "direct-tcpip" }
func (a forwardAddr) String() string { return string(a) }

// LocalAddr returns a name for this side, which has no address of its own.
func (c *ForwardConn) LocalAddr() net.Addr { return forwardAddr("ptyctl") }

// RemoteAddr returns the far side of the forwarded connection.
func (c *ForwardConn) RemoteAddr() net.Addr { return c.remote }
