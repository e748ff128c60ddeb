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
		return nil, &term.Error{Kind: term.ConnectFailed, Err: err, Msg: fmt.Sprintf("the jump host %s did not connect to %s: %s (%s); check that it may forward there", via.hop, h.address(), refused.Message, refused.Reason)}
	case w.ctx.Err() != nil:
		return nil, context.Cause(w.ctx)
	default:
		return nil, &term.Error{Kind: term.ConnectFailed, Err: err, Msg: fmt.Sprintf("the connection to the jump host %s broke: %v; try again", via.hop, err)}
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
