package telnet

import (
	"context"
	"time"
)

const (
	settleQuiet = 150 * time.Millisecond // without a command: negotiation is over
	settleLimit = time.Second            // servers that negotiate do so at once
	settleAhead = 64 << 10               // bytes read ahead; who sends so much has begun
)

// Settle reads ahead until the server's negotiation is over: when data follows it, when no command came for 150 ms,
// or after a second. It returns what Lost returns: nil, or why there is nothing more to come. What it has read is the
// next that Read returns.
func (c *Conn) Settle(ctx context.Context) error {
	c.reading.Lock()
	defer c.reading.Unlock()
	limit := time.NewTimer(settleLimit)
	defer limit.Stop()
	quiet := time.NewTimer(settleLimit) // until something came, only the limit counts
	defer quiet.Stop()
	for seen := int64(-1); ; {
		if c.readErr != nil {
			return c.Lost()
		}
		c.mu.Lock()
		settled, commands, some := c.e.settled(), c.e.negotiated, c.e.negotiated > 0 || c.e.dec.total > 0 || len(c.ahead) > 0
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

// fill starts a read of the connection below, unless one is under way. Not every connection has a deadline, so that it
// may still wait when nobody wants it any more; then it is the next Read's. It requires c.reading.
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
