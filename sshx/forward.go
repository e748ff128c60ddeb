package sshx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/term"
)

// dialThrough opens a channel to the next hop on the link before it (RFC 4254 section 7.2).
func dialThrough(w *watchdog, via *link, h *hop, l *ladder) (net.Conn, error) {
	l.begin(stepTCP)
	type result struct {
		ch   ssh.Channel
		reqs <-chan *ssh.Request
		err  error
	}
	done := make(chan result)
	gone := make(chan struct{})
	via.wg.Go(func() { // ends with the answer, or with the link
		var r result
		r.ch, r.reqs, r.err = via.conn.OpenChannel("direct-tcpip", ssh.Marshal(struct {
			Host       string
			Port       uint32
			OriginHost string
			OriginPort uint32
		}{h.host, uint32(h.port), "127.0.0.1", 0}))
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
		if r.err == nil {
			l.address("via " + via.hop.String())
			return forward(via, r.ch, r.reqs, h.address()), nil
		}
		if refused, ok := errors.AsType[*ssh.OpenChannelError](r.err); ok {
			return nil, &term.Error{Kind: term.ConnectFailed, Err: r.err, Msg: fmt.Sprintf("the jump host %s did not connect to %s: %s (%s); check that it may forward there", via.hop, h.address(), refused.Message, refused.Reason)}
		}
		return nil, &term.Error{Kind: term.ConnectFailed, Err: r.err, Msg: fmt.Sprintf("the connection to the jump host %s broke: %v; try again", via.hop, r.err)}
	case <-via.ctx.Done():
		close(gone)
		return nil, &term.Error{Kind: term.ConnectFailed, Err: via.lost(), Msg: fmt.Sprintf("the connection to the jump host %s broke: %v; try again", via.hop, via.lost())}
	case <-w.ctx.Done():
		close(gone)
		return nil, context.Cause(w.ctx)
	}
}

// A forwardConn is a direct-tcpip channel as a net.Conn. Closing it wakes its readers and writers at once,
// which closing the channel would not: a jump host that is frozen never confirms that. It has no deadlines.
type forwardConn struct {
	*io.PipeReader // what the channel brings
	out            *io.PipeWriter
	remote         net.Addr
}

// forward joins ch to a connection, with goroutines that end with the channel or the link it is on.
func forward(via *link, ch ssh.Channel, reqs <-chan *ssh.Request, address string) net.Conn {
	fromPeer, in := io.Pipe()
	toPeer, out := io.Pipe()
	via.wg.Go(func() { ssh.DiscardRequests(reqs) })
	via.wg.Go(func() {
		_, err := io.Copy(in, ch)
		_ = in.CloseWithError(err) // nil is the end of the stream
	})
	via.wg.Go(func() {
		_, err := io.Copy(ch, toPeer)
		_ = toPeer.CloseWithError(err)
		_ = ch.Close()
	})
	return &forwardConn{PipeReader: fromPeer, out: out, remote: forwardAddr(address)}
}

func (c *forwardConn) Write(p []byte) (int, error) { return c.out.Write(p) }

func (c *forwardConn) Close() error {
	_ = c.out.Close()
	return c.PipeReader.Close()
}

type forwardAddr string

func (forwardAddr) Network() string  { return "direct-tcpip" }
func (a forwardAddr) String() string { return string(a) }

func (c *forwardConn) LocalAddr() net.Addr  { return forwardAddr("ptyctl") }
func (c *forwardConn) RemoteAddr() net.Addr { return c.remote }

var errNoDeadline = errors.New("a forwarded connection has no deadlines")

func (c *forwardConn) SetDeadline(time.Time) error      { return errNoDeadline }
func (c *forwardConn) SetReadDeadline(time.Time) error  { return errNoDeadline }
func (c *forwardConn) SetWriteDeadline(time.Time) error { return errNoDeadline }
