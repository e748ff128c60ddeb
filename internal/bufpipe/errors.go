package bufpipe

import (
	"errors"
	"io"
	"net"
)

// opError wraps err like package net, so that callers get the same types as with TCP: a
// *net.OpError that is a net.Error with Timeout. io.EOF is not wrapped, because readers
// compare it.
func (c *conn) opError(op string, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return &net.OpError{Op: op, Net: c.local.Network(), Source: c.local, Addr: c.remote, Err: err}
}

// opError wraps err like package net does for a listener.
func (l *Listener) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: l.address.Network(), Addr: l.address, Err: err}
}
