package winpipe

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/windows"
)

// maxMessage is the most bytes of one message. Both sides must have the same limit.
const maxMessage = 32 << 10

// A Conn is one end of a pipe. It is safe for concurrent use.
type Conn struct {
	file *os.File // overlapped, so that reads and writes have deadlines and Close ends them
	name string
	peer int // process id of the client; 0: it is at this end

	read  sync.Mutex // guards the following
	rest  []byte     // of the last message
	space []byte     // of rest
	ended bool       // the other side has ended its output

	write  sync.Mutex // guards the following, and keeps the messages of one Write together
	closed bool       // by CloseWrite
}

// newConn makes a Conn of an end of a pipe. It takes the handle.
func newConn(h windows.Handle, name string, peer int) *Conn {
	return &Conn{file: os.NewFile(uintptr(h), name), name: name, peer: peer}
}

// ClientPID returns the id of the process that has connected; 0: this is the client's end.
func (c *Conn) ClientPID() int { return c.peer }

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	c.read.Lock()
	defer c.read.Unlock()
	switch {
	case len(p) == 0:
		return 0, nil
	case len(c.rest) > 0:
		n := copy(p, c.rest)
		c.rest = c.rest[n:]
		return n, nil
	case c.ended:
		return 0, io.EOF
	case len(p) >= maxMessage:
		return c.message(p)
	}
	if c.space == nil {
		c.space = make([]byte, maxMessage)
	}
	n, err := c.message(c.space)
	c.rest = c.space[:n]
	n = copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, err
}

// message reads one message into p. Requires c.read.
func (c *Conn) message(p []byte) (int, error) {
	n, err := c.file.Read(p)
	if errors.Is(err, windows.ERROR_PIPE_NOT_CONNECTED) {
		err = io.EOF
	}
	if errors.Is(err, io.EOF) {
		c.ended = true
		return n, io.EOF
	}
	return n, c.failure("read", err)
}

// Write implements net.Conn.
func (c *Conn) Write(p []byte) (int, error) {
	c.write.Lock()
	defer c.write.Unlock()
	if c.closed {
		return 0, c.failure("write", os.ErrClosed)
	}
	total := 0
	for len(p) > 0 {
		n, err := c.file.Write(p[:min(len(p), maxMessage)])
		total += n
		if err != nil {
			return total, c.failure("write", err)
		}
		p = p[n:]
	}
	return total, nil
}

// CloseWrite ends the output: the other side reads to its end.
func (c *Conn) CloseWrite() error {
	c.write.Lock()
	defer c.write.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	_, err := c.file.Write(nil)
	return c.failure("close", err)
}

// Close implements net.Conn. Reads and writes in progress fail.
func (c *Conn) Close() error { return c.failure("close", c.file.Close()) }

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return address(c.name) }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return address(c.name) }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error { return c.file.SetDeadline(t) }

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.file.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.file.SetWriteDeadline(t) }

// failure is an error in the form of package net.
func (c *Conn) failure(op string, err error) error {
	if err == nil {
		return nil
	}
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		err = of.Err
	}
	if errors.Is(err, os.ErrClosed) {
		err = net.ErrClosed
	}
	return &net.OpError{Op: op, Net: network, Addr: address(c.name), Err: err}
}

// network is the name of the kind of connection.
const network = "pipe"

// An address is the name of a pipe.
type address string

func (address) Network() string  { return network }
func (a address) String() string { return string(a) }
