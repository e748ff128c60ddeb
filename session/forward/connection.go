package forward

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"

	"ptyctl/term"
)

// A connection joins one client to a stream of the far side.
type connection struct {
	f    *forward
	near net.Conn

	mu  sync.Mutex  // guards the following
	far term.Stream // nil: not yet
	cut bool        // close was called
}

// close ends both sides at once.
func (c *connection) close() {
	_ = c.near.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.far != nil && !c.cut {
		_ = c.far.Close()
	}
	c.cut = true
}

// leave closes both sides, and waits until the far side has confirmed it, or the forward has ended. A hostile server never
// confirms; the connection then counts as one of those at a time, because its channel takes memory.
func (c *connection) leave() {
	c.close()
	c.mu.Lock()
	far := c.far
	c.mu.Unlock()
	if far == nil {
		return
	}
	select {
	case <-far.Closed():
	case <-c.f.ctx.Done():
	}
}

// connect opens the stream.
func (c *connection) connect() (term.Stream, error) {
	far, err := c.f.set.carrier.Forwarder().Forward(c.f.ctx, c.f.to.Host, c.f.to.Port)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		_ = far.Close()
		return nil, context.Canceled
	}
	c.far = far
	return far, nil
}

// run copies in both directions until both have ended, or one has failed.
func (c *connection) run() {
	f := c.f
	defer f.forget(c)
	defer c.leave()
	far, err := c.connect()
	if err != nil {
		if f.ctx.Err() == nil {
			f.failed.Add(1)
			f.note(err)
		}
		return
	}
	up := make(chan struct{})
	if !f.spawn(func() {
		defer close(up)
		if readErr, writeErr := f.relay(far, c.near, &f.sent); readErr == nil && writeErr == nil {
			_ = far.CloseWrite()
		} else if readErr != nil { // the client is gone, and reads nothing more
			c.close()
		}
	}) {
		return
	}
	readErr, writeErr := f.relay(c.near, far, &f.received)
	if readErr != nil || writeErr != nil {
		c.close()
	} else if half, ok := c.near.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	select {
	case <-up: // both directions have ended
	case <-far.Closed(): // so nothing goes up any more
		_ = c.near.Close()
		<-up
	}
}

const (
	// smallCopy is the size of the buffer of a direction in which little flows: most connections wait most of the time.
	smallCopy = 4 << 10
	// largeCopy takes two packets of SSH as OpenSSH sends them.
	largeCopy = 64 << 10
)

// largeCopies are the buffers of the directions in which much flows.
var largeCopies = sync.Pool{New: func() any { return new([largeCopy]byte) }}

// relay copies until the end of from, and counts. A nil readErr says that from has ended.
func (f *forward) relay(to io.Writer, from io.Reader, count *atomic.Int64) (readErr, writeErr error) {
	small := make([]byte, smallCopy)
	var large *[largeCopy]byte
	give := func() {
		if large != nil {
			clear(large[:])
			largeCopies.Put(large)
			large = nil
		}
	}
	defer give()
	for {
		p := small
		if large != nil {
			p = large[:]
		}
		n, err := from.Read(p)
		if n > 0 {
			f.set.carrier.Used()
			w, failed := to.Write(p[:n])
			count.Add(int64(w))
			if failed != nil {
				return nil, failed
			}
			f.set.carrier.Used() // the far side may have taken its time
		}
		switch {
		case err == io.EOF:
			return nil, nil
		case err != nil:
			return err, nil
		case large == nil && n == len(p):
			large = largeCopies.Get().(*[largeCopy]byte)
		case large != nil && n < smallCopy:
			give()
		}
	}
}
