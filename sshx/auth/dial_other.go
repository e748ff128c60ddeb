//go:build !windows

package auth

import (
	"context"
	"net"
)

// dialSocket connects to the socket of an agent.
func dialSocket(ctx context.Context, path string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", path)
}
