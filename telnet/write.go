package telnet

import (
	"net"
	"sync"

	"ptyctl/term"
)

// writeAtOnce is the most data encoded for one write of the underlying connection.
const writeAtOnce = 64 << 10

// buffers holds the memory for encoded data.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// Write sends data, with CR as the Enter key and IAC doubled. It returns how many bytes of p
// were sent.
func (c *Conn) Write(p []byte) (int, error) {
	if err := c.lockWrite(); err != nil {
		return 0, err
	}
	defer c.unlockWrite()
	if len(p) == 0 {
		return 0, nil
	}
	sent := 0
	// A long text is encoded in pieces, so that a paste does not need as much memory again.
	for {
		piece := p[sent:min(len(p), sent+writeAtOnce)]
		n, err := c.writePiece(piece, len(p) > sent+len(piece))
		sent += n
		if err != nil || sent == len(p) {
			return sent, err
		}
	}
}

// writePiece writes a part of the data, after the pending commands. The caller must hold
// c.write.
func (c *Conn) writePiece(p []byte, more bool) (int, error) {
	if more && p[len(p)-1] == '\r' { // its encoding depends on the next byte
		p = p[:len(p)-1]
	}
	c.mu.Lock()
	if c.stray != nil {
		c.stray.Sent(p)
	}
	code := c.e.encoding()
	first := len(c.unsent) > 0 || c.e.pending()
	// Most data needs no encoding and no copy.
	if !first && code.plain(p) {
		c.mu.Unlock()
		return c.nc.Write(p)
	}
	b := buffers.Get().(*[]byte)
	defer func() {
		if cap(*b) <= 2*writeAtOnce {
			buffers.Put(b)
		}
	}()
	*b = c.e.take(append((*b)[:0], c.unsent...))
	c.mu.Unlock()
	before := len(*b)
	*b = code.append(*b, p)
	n, err := c.nc.Write(*b)
	if err == nil {
		c.unsent = nil
		return len(p), nil
	}
	if n < before {
		c.unsent = append([]byte(nil), (*b)[n:before]...)
		return 0, err
	}
	// A deadline has cut the write. The rest of a cut command or escape must be sent before anything
	// else, or the server would misread the stream.
	taken, lacking := code.taken(p, n-before)
	c.unsent = append([]byte(nil), (*b)[n:n+lacking]...)
	return taken, err
}

// lockWrite waits for the right to write to nc. It returns net.ErrClosed when the connection
// ends.
func (c *Conn) lockWrite() error {
	select {
	case <-c.done:
		return net.ErrClosed
	default:
	}
	select {
	case c.write <- struct{}{}:
		return nil
	case <-c.done:
		return net.ErrClosed
	}
}

// unlockWrite gives the right to write to the next caller of lockWrite.
func (c *Conn) unlockWrite() { <-c.write }

// flush writes the pending commands in a goroutine: a server that reads nothing must not stop
// Read.
func (c *Conn) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.e.pending() && !c.flushing && !c.closed {
		c.flushing = true
		c.spawn(c.writePending)
	}
}

// writePending writes until no command is pending.
func (c *Conn) writePending() {
	for {
		err := c.lockWrite()
		c.mu.Lock()
		if err != nil || !c.e.pending() {
			c.flushing = false
			c.mu.Unlock()
			if err == nil {
				c.unlockWrite()
			}
			return
		}
		out := c.e.take(c.unsent)
		c.mu.Unlock()
		n, err := c.nc.Write(out)
		c.unsent = nil
		if n < len(out) {
			c.unsent = out[n:]
		}
		c.unlockWrite()
		if err != nil {
			c.mu.Lock()
			c.flushing = false
			c.mu.Unlock()
			return
		}
	}
}

// Send sends a command. Many servers support only a few, and some take the byte after a
// command as part of it.
func (c *Conn) Send(cmd Command) error {
	if err := c.mustSpeak("send"); err != nil {
		return err
	}
	if byte(cmd) < cmdEOF || byte(cmd) >= cmdSB || byte(cmd) == cmdSE {
		return term.Errorf(term.InvalidArgument, "%d is not a command without operand", byte(cmd))
	}
	c.mu.Lock()
	full := len(c.e.control) >= maxControl
	if !full {
		c.e.send(cmdIAC, byte(cmd))
	}
	c.mu.Unlock()
	if full {
		return &term.Error{
			Op:   "send",
			Kind: term.Busy,
			Msg:  "the server does not read its input; read its output, or close the session",
		}
	}
	c.flush()
	return nil
}
