package term

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"reflect"
)

// Dial calls d. Its error is an *Error, or nil with a Transport, whatever d returns: a Dialer of another program may
// return the errors of its own, or neither a Transport nor an error.
//
//	a context that was canceled                                  CANCELED
//	a deadline, or a net.Error that is a timeout                 CONNECT_TIMEOUT
//	net.OpError, a name that is not found, any other error, nil  CONNECT_FAILED
func (d Dialer) Dial(ctx context.Context, t Target, p Prompter, approve Approve) (Transport, error) {
	tr, err := d(ctx, t, p, approve)
	if _, ok := errors.AsType[*Error](err); ok {
		return nil, err
	}
	if err != nil {
		return nil, dialError(ctx, err)
	}
	if v := reflect.ValueOf(tr); tr == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, Errorf(ConnectFailed, "the Dialer of protocol %q returned no terminal and no error", t.Protocol)
	}
	return tr, nil
}

// dialError returns an error that is not an *Error as one.
func dialError(ctx context.Context, err error) *Error {
	var timeout net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return &Error{Kind: Canceled, Msg: CanceledMsg(ctx, "canceled while connecting"), Err: err}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		return &Error{Kind: ConnectTimeout, Msg: fmt.Sprintf("no connection in time: %v", err), Err: err}
	default:
		return &Error{Kind: ConnectFailed, Msg: fmt.Sprintf("no connection: %v", err), Err: err}
	}
}
