package reach

import (
	"context"
	"net"

	"ptyctl/term"
)

// hold has the context's term.Hold, if there is one, hold the socket of conn, until conn is closed. It closes conn if
// that fails.
func hold(ctx context.Context, conn net.Conn) (net.Conn, error) {
	if term.HoldFrom(ctx) == nil {
		return conn, nil
	}
	release, err := term.HoldSocket(ctx, conn)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return &heldConn{conn, release}, nil
}

// A heldConn is a connection that holds its socket until Close.
type heldConn struct {
	net.Conn
	release func()
}

// NetConn returns the connection itself.
func (c *heldConn) NetConn() net.Conn { return c.Conn }

// Close implements net.Conn.
func (c *heldConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
