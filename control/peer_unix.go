//go:build unix

package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
)

// Connect connects to a socket of this package without a client on top. It fails if the process at the other end
// belongs to another user, before anything is sent.
func Connect(ctx context.Context, path string) (net.Conn, error) { return dial(ctx, path) }

// Inherited makes a socket that another process has bound, for example systemd, one that accepts connections of this
// user only. Closing it leaves the socket's file.
func Inherited(l net.Listener, log *slog.Logger) (net.Listener, error) {
	u, ok := l.(*net.UnixListener)
	if !ok {
		return nil, fmt.Errorf("control: the inherited socket is %s, and must be a Unix socket", l.Addr().Network())
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	u.SetUnlinkOnClose(false)
	return &listener{UnixListener: u, path: l.Addr().String(), uid: os.Getuid(), log: log}, nil
}

// PeerPID returns the process that has connected; 0: the system does not say.
func PeerPID(c net.Conn) (int, error) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return 0, errors.New("control: no Unix socket")
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return 0, err
	}
	pid, bad := 0, error(nil)
	if err := raw.Control(func(fd uintptr) { pid, bad = peerPID(int(fd)) }); err != nil {
		return 0, err
	}
	return pid, bad
}

// errPeerEnded means that the process that has connected has ended, and its number may be another's.
var errPeerEnded = errors.New("the process that has connected has ended")

// CheckPeer calls check with the process that has connected, and returns its error. It fails if the process has ended
// by then: check may have looked at another process with the same id. Linux before 6.5 cannot detect that. Other
// systems name no process, and check is not called there.
func CheckPeer(c net.Conn, check func(pid int) error) error {
	pid, err := PeerPID(c)
	if err != nil || pid == 0 {
		return err
	}
	raw, err := c.(*net.UnixConn).SyscallConn()
	if err != nil {
		return err
	}
	var ended func() error
	var release func()
	bad := error(nil)
	if err := raw.Control(func(fd uintptr) { ended, release, bad = holdPeer(int(fd)) }); err != nil {
		return err
	}
	if bad != nil {
		return bad
	}
	defer release()
	if err := check(pid); err != nil {
		return err
	}
	return ended()
}
