package term

import (
	"context"
	"fmt"
	"net"
	"syscall"
)

// A Hold makes sure that the socket of a connection can be shut down from outside of this process, should the process be
// paused for so long that another may use the far side. It returns an error if it cannot; the connection must not be
// used then. release ends that, and may be called again without effect. It must be called after the connection was
// closed, because the far side does not see that before, and must return at once.
type Hold func(socket syscall.Conn) (release func(), err error)

type holdKey struct{}

// WithHold returns a context for a Dialer that must have h hold the sockets of its connections.
func WithHold(ctx context.Context, h Hold) context.Context {
	return context.WithValue(ctx, holdKey{}, h)
}

// HoldFrom returns the Hold of ctx, or nil: then connections are used as they are.
//
// A connection with a Hold belongs to one session: neither it nor a connection to a host on the way is shared with
// other sessions.
func HoldFrom(ctx context.Context) Hold {
	h, _ := ctx.Value(holdKey{}).(Hold)
	return h
}

// HoldSocket has the Hold of ctx, if there is one, hold the socket of conn. A Dialer calls it on the connection that
// this machine makes, which may be to a proxy or a jump host, before it sends the first byte. After an error the Dialer
// closes conn and fails.
func HoldSocket(ctx context.Context, conn net.Conn) (release func(), err error) {
	hold := HoldFrom(ctx)
	if hold == nil {
		return func() {}, nil
	}
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return nil, NoSocket(fmt.Sprintf("a connection of type %T", conn))
	}
	if release, err = hold(socket); err != nil {
		return nil, &Error{
			Kind: ConnectFailed, Err: err,
			Msg: fmt.Sprintf("connected, but nothing was sent: the connection cannot be shut down from outside: %v", err),
		}
	}
	return release, nil
}

// NoSocket is the error of a Dialer if its connection has no socket of this process, although the context has a Hold.
// what describes the connection.
func NoSocket(what string) *Error {
	return &Error{
		Kind: Unsupported,
		Msg: what + " has no socket of ptyctl's own, so that it could not be shut down if this node were paused: " +
			"a console that other nodes may take over is reached by TCP, a proxy or a jump host",
	}
}
