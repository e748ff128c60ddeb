package sshserver

import (
	"net"
	"sync"
)

// gate is the server's end of a connection, which can be made to hang: then no byte moves until it is closed.
type gate struct {
	net.Conn
	freezeOnce, closeOnce sync.Once
	frozen, closed        chan struct{}
	closeErr              error
}

func newGate(nc net.Conn) *gate {
	return &gate{Conn: nc, frozen: make(chan struct{}), closed: make(chan struct{})}
}

func (g *gate) Read(p []byte) (int, error) {
	if g.hung() {
		return 0, net.ErrClosed
	}
	n, err := g.Conn.Read(p)
	// What arrived just after the freeze must not be seen.
	if g.hung() {
		return 0, net.ErrClosed
	}
	return n, err
}

func (g *gate) Write(p []byte) (int, error) {
	if g.hung() {
		return 0, net.ErrClosed
	}
	return g.Conn.Write(p)
}

// hung reports whether g is frozen, after it has been closed.
func (g *gate) hung() bool {
	select {
	case <-g.frozen:
		<-g.closed
		return true
	default:
		return false
	}
}

func (g *gate) freeze() { g.freezeOnce.Do(func() { close(g.frozen) }) }

func (g *gate) Close() error {
	g.closeOnce.Do(func() {
		close(g.closed)
		g.closeErr = g.Conn.Close()
	})
	return g.closeErr
}

// reset closes g so that a TCP peer sees ECONNRESET instead of the end of the stream.
func (g *gate) reset() {
	if tcp, ok := g.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // without it the close is still a close
	}
	g.Close()
}
