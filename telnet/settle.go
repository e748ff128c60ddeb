package telnet

import (
	"context"
	"time"
)

// The times and sizes of Settle. They are a compromise: a longer quiet time delays each connection
// to a server that does not negotiate, and a shorter one may miss the first options of a slow
// device.
const (
	settleQuiet = 150 * time.Millisecond // without a command, after which negotiation is over
	settleLimit = time.Second            // servers that negotiate do so at once
	settleAhead = 64 << 10               // most bytes read ahead; so much data means that the server has started
)

// Settle reads ahead until the server's negotiation is over: when data follows it, after 150
// ms without a command, or after one second. It returns the result of Lost: nil, or the error
// that ended the stream. Read returns the data read ahead.
func (c *Conn) Settle(ctx context.Context) error {
	c.reading.Lock()
	defer c.reading.Unlock()
	limit := time.NewTimer(settleLimit)
	defer limit.Stop()
	// Data without commands also starts the quiet time: a server without Telnet must not wait.
	quiet := time.NewTimer(settleLimit) // before the first byte only the limit counts
	defer quiet.Stop()
	for seen := int64(-1); ; {
		if c.readErr != nil {
			return c.Lost()
		}
		c.mu.Lock()
		settled, commands, some := c.e.settled(), c.e.negotiated, c.e.negotiated > 0 || c.e.dec.total > 0 ||
			len(c.ahead) > 0
		c.mu.Unlock()
		if settled || c.config.Mode == ModeRaw || len(c.ahead) >= settleAhead {
			return nil
		}
		if some && commands != seen {
			seen = commands
			quiet.Reset(settleQuiet)
		}
		f := c.fill()
		select {
		case <-f.done:
			c.filling = nil
			n, _ := c.received(f.p[:f.n], f.err)
			c.ahead = append(c.ahead, f.p[:n]...)
		case <-quiet.C:
			return nil
		case <-limit.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// fill starts a read of the underlying connection, unless one is in progress. Some
// connections have no deadlines, so the read may outlast its caller; the next Read takes it
// over. The caller must hold c.reading.
func (c *Conn) fill() *fill {
	if c.filling != nil {
		return c.filling
	}
	f := &fill{done: make(chan struct{}), p: make([]byte, storeSize)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.filling = f
	if c.closed {
		f.err = errClosed("read")
		close(f.done)
		return f
	}
	c.spawn(func() {
		defer close(f.done)
		f.n, f.err = c.nc.Read(f.p)
	})
	return f
}
