package sshserver

import (
	"net"
	"sync"
)

// gate is the server's end of a connection, which can be frozen: then it transfers no
// byte until it is closed.
type gate struct {
	net.Conn
	freezeOnce, closeOnce sync.Once
	frozen, closed        chan struct{}
	closeErr              error
}

// newGate returns the gate of nc, not frozen.
func newGate(nc net.Conn) *gate {
	return &gate{Conn: nc, frozen: make(chan struct{}), closed: make(chan struct{})}
}

// Read implements net.Conn.
func (g *gate) Read(p []byte) (int, error) {
	if g.hung() {
		return 0, net.ErrClosed
	}
	n, err := g.Conn.Read(p)
	// Data that arrived after the freeze must not be seen.
	if g.hung() {
		return 0, net.ErrClosed
	}
	return n, err
}

// Write implements net.Conn.
func (g *gate) Write(p []byte) (int, error) {
	if g.hung() {
		return 0, net.ErrClosed
	}
	return g.Conn.Write(p)
}

// hung reports whether g is frozen; if so, it first waits for Close.
func (g *gate) hung() bool {
	select {
	case <-g.frozen:
		<-g.closed
		return true
	default:
		return false
	}
}

// freeze stops all transfers.
func (g *gate) freeze() { g.freezeOnce.Do(func() { close(g.frozen) }) }

// Close implements net.Conn. It wakes frozen calls.
func (g *gate) Close() error {
	g.closeOnce.Do(func() {
		close(g.closed)
		g.closeErr = g.Conn.Close()
	})
	return g.closeErr
}

// reset closes g so that a TCP peer gets ECONNRESET instead of the end of the stream.
func (g *gate) reset() {
	if tcp, ok := g.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // on an error the peer gets a normal end
	}
	g.Close()
}
