package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"ptyctl/internal/winpipe"
)

// Connect connects to a socket of this package without a client on top. It fails if the process at the other end
// belongs to another user, before anything is sent.
func Connect(ctx context.Context, path string) (net.Conn, error) { return dial(ctx, path) }

// Inherited fails: no service manager here binds sockets.
func Inherited(net.Listener, *slog.Logger) (net.Listener, error) {
	return nil, fmt.Errorf("control: the inherited socket: %w", errors.ErrUnsupported)
}

// PeerPID returns the process that has connected; 0: the system does not say.
func PeerPID(c net.Conn) (int, error) {
	p, ok := c.(*winpipe.Conn)
	if !ok {
		return 0, errors.New("control: no pipe")
	}
	return p.ClientPID(), nil
}

// CheckPeer calls check with the process that has connected, and returns its error. If that process has ended
// meanwhile, check may have looked at another process with the same id.
func CheckPeer(c net.Conn, check func(pid int) error) error {
	pid, err := PeerPID(c)
	if err != nil {
		return err
	}
	return check(pid)
}
