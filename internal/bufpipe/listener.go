package bufpipe

import (
	"context"
	"net"
	"sync"
	"syscall"
)

// Listener is a net.Listener that is reached through its own DialContext only.
type Listener struct {
	address addr
	limit   int
	backlog chan net.Conn // unbuffered: a dial waits until it is accepted

	closeOnce sync.Once
	closed    chan struct{}
}

// Listen returns a Listener whose Addr is address, for instance "router1:22". limit is that of [New].
func Listen(address string, limit int) *Listener {
	return &Listener{address: addr(address), limit: limit, backlog: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept waits for the next DialContext. After Close it fails with [net.ErrClosed].
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.backlog:
		return c, nil
	case <-l.closed:
		return nil, l.opError("accept", net.ErrClosed)
	}
}

// DialContext has the signature of [net.Dialer.DialContext] and takes its place; both arguments are ignored.
// It waits until the connection is accepted, so a listener that nobody accepts from is a host that does not answer.
// After Close it fails as a closed port does, with [syscall.ECONNREFUSED].
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

// Close ends Accept and DialContext. Connections already made live on.
func (l *Listener) Close() error {
	l.closeOnce.Do(func() { close(l.closed) })
	return nil
}

// Addr returns the address given to Listen.
func (l *Listener) Addr() net.Addr { return l.address }
