//go:build unix

package control

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"ptyctl/internal/rundir"
)

// maxPath is how long the path of a socket may be: sun_path of unix(7), with its NUL.
const maxPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// dialWait bounds a connection on this machine: only a server that was stopped makes anybody wait.
const dialWait = 2 * time.Second

// A listener is a control socket. It accepts this user alone.
type listener struct {
	*net.UnixListener
	path string
	file fs.FileInfo // of the socket that it made
	uid  int         // of those it accepts
	log  *slog.Logger
}

// Path returns where a process of this user has its socket, unless the operator names another place.
func Path(pid int) (string, error) {
	dir, err := rundir.Dir()
	if err != nil {
		return "", fmt.Errorf("control: %w", err)
	}
	return filepath.Join(dir, fmt.Sprintf("%d%s", pid, suffix)), nil
}

// Listen makes the socket, whose folder is made if need be. A nil log is silent. Closing the listener removes the
// socket, unless another has taken its place.
func Listen(path string, log *slog.Logger) (net.Listener, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if !filepath.IsAbs(path) || len(path) > maxPath {
		return nil, fmt.Errorf("control: a socket needs an absolute path of at most %d bytes, not %q", maxPath, path)
	}
	dir := filepath.Dir(path)
	if err := rundir.Own(dir); err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	leave, err := rundir.Enter(dir) // from the look at what is there until the socket listens
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	defer leave()
	if err := vacate(path); err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	l.SetUnlinkOnClose(false) // it would remove whatever lies there by then
	// The folder has kept others out since before the socket was there.
	if err = os.Chmod(path, 0o600); err == nil {
		var file fs.FileInfo
		if file, err = os.Lstat(path); err == nil {
			sweep(dir)
			return &listener{UnixListener: l, path: path, file: file, uid: os.Getuid(), log: log}, nil
		}
	}
	_ = l.Close()
	_ = os.Remove(path)
	return nil, fmt.Errorf("control: %w", err)
}

// vacate removes the socket of a dead process from path, and fails if anything else is there. Requires the gate.
func vacate(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode()&fs.ModeSocket == 0:
		return fmt.Errorf("%s is there and no socket; it was not touched: remove it, or name another path", path)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Getuid() {
		return fmt.Errorf("%s is there and belongs to another user; it was not touched: name another path", path)
	}
	if alive(path) {
		return &InUseError{Path: path}
	}
	return os.Remove(path)
}

// InUseError says that another process serves the socket.
type InUseError struct{ Path string }

func (e *InUseError) Error() string {
	return fmt.Sprintf("another process serves %s; leave the path out, and each ptyctl has a socket of its own", e.Path)
}

// alive reports whether a process listens there, or may: it is dead for certain if the kernel says that nobody does.
func alive(path string) bool {
	c, err := net.DialTimeout("unix", path, dialWait)
	if err == nil {
		_ = c.Close()
	}
	return !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, fs.ErrNotExist)
}

// sweep removes what processes that were killed have left in the folder. Requires the gate.
func sweep(dir string) {
	for _, s := range in(dir) {
		_ = vacate(s.Path) // it is alive, or somebody else's: both may stay
	}
}

// Accept waits for the next connection of this user.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if err = belongsTo(c, l.uid); err == nil {
			return c, nil
		}
		l.log.Warn("a connection to the control socket was refused", "socket", l.path, "error", err)
		_ = c.Close()
	}
}

// Close ends listening and removes the socket.
func (l *listener) Close() error {
	leave, err := rundir.Enter(filepath.Dir(l.path))
	if err == nil {
		defer leave()
		if now, err := os.Lstat(l.path); err == nil && os.SameFile(now, l.file) {
			_ = os.Remove(l.path)
		}
	}
	return l.UnixListener.Close()
}

// belongsTo fails unless the process at the other end is that user's.
func belongsTo(c *net.UnixConn, want int) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	uid, bad := -1, error(nil)
	if err := raw.Control(func(fd uintptr) { uid, bad = peerUID(int(fd)) }); err != nil {
		return err
	}
	switch {
	case bad != nil:
		return fmt.Errorf("the user at the other end is unknown: %w", bad)
	case uid != want:
		return fmt.Errorf("the process at the other end belongs to user %d, not to %d", uid, want)
	}
	return nil
}
