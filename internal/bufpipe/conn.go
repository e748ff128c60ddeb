package bufpipe

import (
	"errors"
	"net"
	"time"
)

// New returns the two ends of a connection. Each end reads the data written to the other.
//
// limit is the most bytes buffered in each direction. A Write without room waits until
// the peer reads, the connection closes, or its deadline passes. Zero or less means no
// limit: a Write never waits.
func New(limit int) (a, b net.Conn) {
	return newPair(limit, "client", "server")
}

// newPair joins two ends with the given addresses.
func newPair(limit int, aAddr, bAddr addr) (a, b *conn) {
	ab, ba := newStream(limit), newStream(limit)
	return &conn{in: ba, out: ab, local: aAddr, remote: bAddr}, &conn{in: ab, out: ba, local: bAddr, remote: aAddr}
}

// conn is one end of a pair.
type conn struct {
	in, out       *stream
	local, remote addr
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.in.read(p)
	return n, c.opError("read", err)
}

// Write implements net.Conn. It waits until all of p is buffered.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.out.write(p)
	return n, c.opError("write", err)
}

// CloseWrite ends the outgoing direction only, like [net.TCPConn.CloseWrite]: the peer
// reads the buffered data and then io.EOF.
func (c *conn) CloseWrite() error {
	c.out.closeWrite()
	return nil
}

// Close ends both directions and wakes every waiting call. The peer can still read the
// data written before.
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

// addr is the name of an end, because memory has no addresses.
type addr string

func (addr) Network() string  { return "bufpipe" }
func (a addr) String() string { return string(a) }
