//go:build unix

package control

import (
	"context"
	"net"
	"os"
)

// dial connects to a socket, and makes sure that this user's process is at the other end before anything is said.
func dial(ctx context.Context, path string) (net.Conn, error) {
	c, err := (&net.Dialer{Timeout: dialWait}).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := belongsTo(c.(*net.UnixConn), os.Getuid()); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}
