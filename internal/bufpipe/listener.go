package bufpipe

import (
	"context"
	"net"
	"sync"
	"syscall"
)

// Listener is a net.Listener for connections made by its own DialContext.
type Listener struct {
	address addr
	limit   int
	backlog chan net.Conn // unbuffered: a dial waits until it is accepted

	closeOnce sync.Once
	closed    chan struct{}
}

// Listen returns a Listener with this Addr, for example "router1:22". limit has the
// meaning it has in [New].
func Listen(address string, limit int) *Listener {
	return &Listener{address: addr(address), limit: limit, backlog: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept waits for the next DialContext. After Close it returns [net.ErrClosed].
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.backlog:
		return c, nil
	case <-l.closed:
		return nil, l.opError("accept", net.ErrClosed)
	}
}

// DialContext has the signature of [net.Dialer.DialContext] and can replace it; it
// ignores network and address. It waits for Accept, so a listener without Accept behaves
// like a host that does not answer. After Close it fails like a closed port, with
// [syscall.ECONNREFUSED].
func (l *Listener) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := newPair(l.limit, "client", l.address)
	select {
	case l.backlog <- server:
		return client, nil
	case <-l.closed:
		return nil, l.opError("dial", syscall.ECONNREFUSED)
	case <-ctx.Done():
		return nil, l.opError("dial", ctx.Err())
	}
}

// Close ends Accept and DialContext. Existing connections stay open.
func (l *Listener) Close() error {
	l.closeOnce.Do(func() { close(l.closed) })
	return nil
}

// Addr returns the address given to Listen.
func (l *Listener) Addr() net.Addr { return l.address }
