package watch

import (
	"context"
	"net"
	"sync"

	"ptyctl/mcpapi/identity"
)

// inside is a listener in memory: the requests of the people at a Portal come in there.
type inside struct {
	conns chan net.Conn
	ended chan struct{}
	close func()
}

func newInside() *inside {
	l := &inside{conns: make(chan net.Conn), ended: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.ended) })
	return l
}

// A personal connection is one for the requests of a person. Nothing that is sent there can say otherwise.
type personal struct {
	net.Conn
	who identity.Caller
}

// Identify completes the caller of a request that has come in at a Portal's Listener. It is an Identify of
// httpserve.Options.
func Identify(conn net.Conn, c *identity.Caller) {
	if p, ok := conn.(*personal); ok {
		c.Transport, c.Token, c.ReadOnly = p.who.Transport, p.who.Token, c.ReadOnly || p.who.ReadOnly
	}
}

// dial connects a person with the process.
func (l *inside) dial(ctx context.Context, who identity.Caller) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.conns <- &personal{far, who}:
		return near, nil
	case <-l.ended:
	case <-ctx.Done():
	}
	_ = near.Close()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, net.ErrClosed
}

// Accept implements net.Listener.
func (l *inside) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.ended:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *inside) Close() error {
	l.close()
	return nil
}

// Addr implements net.Listener.
func (l *inside) Addr() net.Addr { return insideAddr{} }

type insideAddr struct{}

func (insideAddr) Network() string { return "memory" }
func (insideAddr) String() string  { return "the watch page" }
