package bufpipe

import (
	"errors"
	"net"
	"time"
)

// New returns the two ends of a connection. What one end writes, the other reads.
//
// limit is the most bytes that wait in each direction; a Write that finds no room waits until the peer reads, the
// connection closes, or its deadline passes. Zero or less means no limit: a Write never waits.
func New(limit int) (a, b net.Conn) {
	return newPair(limit, "client", "server")
}

func newPair(limit int, aAddr, bAddr addr) (a, b *conn) {
	ab, ba := newStream(limit), newStream(limit)
	return &conn{in: ba, out: ab, local: aAddr, remote: bAddr}, &conn{in: ab, out: ba, local: bAddr, remote: aAddr}
}

// conn is one end of a pair.
type conn struct {
	in, out       *stream
	local, remote addr
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.in.read(p)
	return n, c.opError("read", err)
}

func (c *conn) Write(p []byte) (int, error) {
	n, err := c.out.write(p)
	return n, c.opError("write", err)
}

// CloseWrite ends the outgoing direction only, as [net.TCPConn.CloseWrite] does: the peer reads what is buffered, then io.EOF.
func (c *conn) CloseWrite() error {
	c.out.closeWrite()
	return nil
}

// Close ends both directions and wakes every waiting call. The peer still reads what was written before.
func (c *conn) Close() error {
	c.out.closeWrite()
	c.in.closeRead()
	return nil
}

func (c *conn) LocalAddr() net.Addr  { return c.local }
func (c *conn) RemoteAddr() net.Addr { return c.remote }

func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.in.setDeadline(&c.in.readExpired, t)
	return nil
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	c.out.setDeadline(&c.out.writeExpired, t)
	return nil
}

// addr is a name: in memory there is nothing to resolve.
type addr string

func (addr) Network() string  { return "bufpipe" }
func (a addr) String() string { return string(a) }
