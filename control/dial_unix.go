//go:build unix

package control

import (
	"context"
	"net"
	"os"

	"ptyctl/internal/peer"
)

// dial connects to a socket and checks that the process at the other end belongs to this
// user, before anything is sent.
func dial(ctx context.Context, path string) (net.Conn, error) {
	c, err := (&net.Dialer{Timeout: dialWait}).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := peer.BelongsTo(c.(*net.UnixConn), os.Getuid()); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}
