package httpserve

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// Connections at a time, per concurrent call. A stranger is a connection without an authorized request so far.
const (
	strangersOfAddress = 2
	strangersOfAll     = 3
	mostStrangers      = 6
	knownOfAll         = 5
)

// leastWait is how long the server waits at least for a stranger's request, however many others come. A client that has
// connected sends it at once, so that it is no stranger for long.
const leastWait = 200 * time.Millisecond

// connections is a listener that keeps strangers from locking others out. When one address has too many strangers, or
// all together are too many, the oldest of the address that has most of them is closed. If all of those are too young
// for that, there may be more strangers for a moment: accepting never waits, since the kernel's queue is short and
// the same for all. A connection stops being a stranger at its first authorized request, and is then limited only
// together with those like it.
type connections struct {
	net.Listener
	ofAddress, ofAll, most, known int

	mu        sync.Mutex // guards the following
	strangers int
	byAddress map[netip.Prefix]*list.List // of *connection, the oldest first; none is empty
	admitted  int                         // connections that are no strangers
}

// newConnections returns a listener for so many concurrent calls, or for 8 if they are fewer.
func newConnections(ln net.Listener, calls int) *connections {
	calls = max(calls, 8)
	return &connections{
		Listener: ln, ofAddress: strangersOfAddress * calls, ofAll: strangersOfAll * calls,
		most: mostStrangers * calls, known: knownOfAll * calls, byAddress: make(map[netip.Prefix]*list.List),
	}
}

// A connection is one that a client has opened.
type connection struct {
	net.Conn
	of      *connections
	address netip.Prefix
	opened  time.Time
	done    atomic.Bool   // its request was answered without a token, and it is only kept until the client has the answer
	waits   atomic.Bool   // the server waits for bytes of the client
	waited  time.Duration // from opened until the server first did; set before waits
	rate    *rate.Limiter // of requests without a token; nil: not made yet. Used by one request at a time

	// The following are guarded by of.mu.
	place  *list.Element // among the strangers of its address; nil: no stranger
	known  bool
	closed bool
}

// Accept implements net.Listener.
func (l *connections) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: conn, of: l, address: addressOf(conn), opened: time.Now()}
	if victim := l.add(c); victim != nil {
		l.end(victim)
	}
	return c, nil
}

// end closes a stranger. It needs no answer, since it has sent no request.
func (l *connections) end(victim *connection) {
	if !victim.giveUp() {
		return
	}
	raw := victim.Conn
	if secure, ok := raw.(interface{ NetConn() net.Conn }); ok {
		raw = secure.NetConn() // TLS would say goodbye, and wait for room to say it
	}
	if tcp, ok := raw.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // no state remains, so that many of them cost nothing
	}
	_ = raw.Close() // its reader ends, and calls Close of victim
}

// add adds a stranger. It returns the one to close for it, or nil.
func (l *connections) add(c *connection) (victim *connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	mine := l.byAddress[c.address]
	if mine == nil {
		mine = list.New()
		l.byAddress[c.address] = mine
	}
	c.place = mine.PushBack(c)
	l.strangers++
	switch {
	case mine.Len() > l.ofAddress:
	case l.strangers <= l.ofAll:
		return nil
	default:
		for _, other := range l.byAddress {
			if other.Len() > mine.Len() {
				mine = other
			}
		}
	}
	now, tooMany := time.Now(), l.strangers > l.most
	for e := mine.Front(); e != nil; e = e.Next() {
		old := e.Value.(*connection)
		age := now.Sub(old.opened)
		if old.done.Load() {
			return old
		}
		if age < leastWait && !tooMany {
			return nil // the others are younger
		}
		// A client that has sent its request waits for the server, which may not have come to it yet.
		if old.waits.Load() && (age-old.waited >= leastWait || tooMany) {
			return old
		}
	}
	if tooMany {
		return mine.Front().Value.(*connection)
	}
	return nil
}

// Read implements net.Conn. It has one caller at a time.
func (c *connection) Read(p []byte) (int, error) {
	if c.waited == 0 {
		c.waited = max(1, time.Since(c.opened))
	}
	c.waits.Store(true)
	defer c.waits.Store(false)
	return c.Conn.Read(p)
}

// forgetLocked takes c from the strangers. Requires of.mu.
func (c *connection) forgetLocked() {
	if c.place == nil {
		return
	}
	l := c.of
	mine := l.byAddress[c.address]
	mine.Remove(c.place)
	if mine.Len() == 0 {
		delete(l.byAddress, c.address)
	}
	c.place = nil
	l.strangers--
}

// giveUp reports whether c is still a stranger. From then on it stays one.
func (c *connection) giveUp() bool {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	stranger := c.place != nil
	c.forgetLocked()
	return stranger
}

// admit makes c a connection that is no stranger, because it has sent an authorized request. It reports false if there
// are too many of these.
func (c *connection) admit() bool {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	switch {
	case c.known:
		return true
	case c.of.admitted >= c.of.known:
		return false
	case !c.closed:
		c.forgetLocked()
		c.known = true
		c.of.admitted++
	}
	return true
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.of.mu.Lock()
	c.forgetLocked()
	if c.known && !c.closed {
		c.of.admitted--
	}
	c.closed = true
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// addressOf returns the network that counts as one address: an IPv4 address, or the 64 bits of an IPv6 address that
// one host usually has for itself. It is zero for connections without IP, for example of a Unix socket.
func addressOf(conn net.Conn) netip.Prefix {
	tcp, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip := tcp.AddrPort().Addr().Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	network, err := ip.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return network
}

type connectionKey struct{}

// withConnection is http.Server.ConnContext.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, conn)
}

// connectionOf returns the connection of a request; nil if the handler is not served by Handler.Serve.
func connectionOf(r *http.Request) *connection {
	c, _ := r.Context().Value(connectionKey{}).(*connection)
	return c
}
