package term

import (
	"errors"
	"net"
)

// RootCause removes the operation and address that package net adds to an error, for
// messages that name both themselves.
func RootCause(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return errors.New(dns.Err)
	}
	return err
}
