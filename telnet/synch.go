package telnet

import (
	"context"
	"net"

	"ptyctl/telnet/urgent"
	"ptyctl/term"
)

// Synch sends a data mark as TCP urgent data (RFC 854): a busy server sees it, and discards
// input up to it except commands. Synch needs a direct TCP connection without TLS, and does
// not work on Windows.
func (c *Conn) Synch() error {
	if err := c.mustSpeak("synch"); err != nil {
		return err
	}
	tcp, ok := c.nc.(*net.TCPConn)
	if !ok {
		return &term.Error{
			Op:   "synch",
			Kind: term.Unsupported,
			Msg:  "urgent data cannot be sent over this connection (TLS, a proxy or a bastion); send ctrl_c instead",
		}
	}
	// Pending commands must be written first: the mark ends the input that the server discards.
	if err := c.lockWrite(); err != nil {
		return errClosed("synch")
	}
	defer c.unlockWrite()
	c.mu.Lock()
	out := c.e.take(c.unsent)
	c.mu.Unlock()
	c.unsent = nil
	if n, err := tcp.Write(out); err != nil {
		c.unsent = out[n:]
		return &term.Error{Op: "synch", Kind: term.IOError, Err: err}
	}
	if err := urgent.Send(tcp, []byte{cmdIAC, cmdDM}); err != nil {
		return &term.Error{
			Op:   "synch",
			Kind: term.Unsupported,
			Err:  err,
			Msg:  "urgent data cannot be sent: " + err.Error(),
		}
	}
	return nil
}

// interrupt sends IP or AO, followed by a data mark if that is configured and possible.
func (c *Conn) interrupt(ctx context.Context, cmd Command) error {
	if err := c.Send(cmd); err != nil {
		return err
	}
	if c.stray != nil {
		c.mu.Lock()
		c.stray.Sent([]byte("\x03"))
		c.mu.Unlock()
	}
	if _, tcp := c.nc.(*net.TCPConn); tcp && c.config.SynchInterrupt {
		return c.synchWithin(ctx)
	}
	return nil
}

// synchWithin is Synch with a limit: a server that reads nothing delays the mark, too.
func (c *Conn) synchWithin(ctx context.Context) error {
	done := make(chan error, 1)
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return errClosed("synch")
	}
	c.wg.Go(func() { done <- c.Synch() })
	c.mu.Unlock()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		late := unanswered(ctx, "synch")
		late.Msg = "the server does not read its input; the interrupt is sent when it does"
		return late
	}
}
