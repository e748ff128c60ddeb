package control

import (
	"context"
	"net"
	"syscall"

	"ptyctl/internal/winpipe"
)

// dial connects to the pipe of a socket and checks that it belongs to this user, before anything is sent.
func dial(ctx context.Context, path string) (net.Conn, error) {
	name, err := pipeAt(path)
	if err != nil {
		return nil, err
	}
	// The pipe stays for as long as a client has its end open, also after its process has ended.
	if !alive(path) {
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: syscall.ECONNREFUSED}
	}
	c, err := winpipe.Dial(ctx, name)
	if err != nil {
		return nil, err
	}
	return c, nil
}
