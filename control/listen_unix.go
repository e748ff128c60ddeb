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

	"ptyctl/internal/peer"
	"ptyctl/internal/rundir"
)

// maxPath is the longest path of a socket: the size of sun_path in unix(7) without its
// NUL.
const maxPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// dialWait limits a connection on this machine. Only a stopped process makes a client
// wait.
const dialWait = 2 * time.Second

// A listener is a control socket. It accepts connections of this user only.
type listener struct {
	*net.UnixListener
	path string
	file fs.FileInfo // the socket file that it created; nil: another process did
	uid  int         // user id of the accepted processes
	log  *slog.Logger
}

// Listen creates the socket, and its folder if necessary. If log is nil, refusals are not
// logged. Closing the listener removes the socket, unless another process has replaced
// it.
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
	leave, err := rundir.Enter(dir) // held from the check of the path until the socket listens
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
	l.SetUnlinkOnClose(false) // Close would remove any file at the path
	// The mode of the folder has kept others out since before the socket existed.
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

// Vacate removes the socket of a dead process from path, and fails for any other file there; it returns an *InUseError
// if a process serves it. Requires rundir.Enter of its folder.
func Vacate(path string) error { return vacate(path) }

// vacate removes the socket of a dead process from path, and fails for any other file
// there. Requires rundir.Enter.
func vacate(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode()&fs.ModeSocket == 0:
		return fmt.Errorf("%s exists and is not a socket: it was not touched; remove it, or use another path", path)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Getuid() {
		return fmt.Errorf("%s exists and belongs to another user: it was not touched; use another path", path)
	}
	if alive(path) {
		return &InUseError{Path: path}
	}
	return os.Remove(path)
}

// alive reports whether a process may listen at the path. It is false only if the kernel says that no process does. The
// question is asked with a socket of another type, which is never connected: the process does not learn of it, and a
// service manager starts none.
func alive(path string) bool {
	c, err := net.DialTimeout("unixgram", path, dialWait)
	if err == nil {
		_ = c.Close()
	}
	return !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, fs.ErrNotExist)
}

// sweep removes the sockets of killed processes from the folder. Requires rundir.Enter.
func sweep(dir string) {
	for _, s := range in(dir) {
		_ = vacate(s.Path) // sockets of live processes and other users stay
	}
}

// Accept returns the next connection of this user. It closes and logs all others.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if err = peer.BelongsTo(c, l.uid); err == nil {
			return c, nil
		}
		l.log.Warn("control connection refused", "socket", l.path, "error", err)
		_ = c.Close()
	}
}

// Close stops listening and removes the socket.
func (l *listener) Close() error {
	if l.file == nil { // of another process
		return l.UnixListener.Close()
	}
	leave, err := rundir.Enter(filepath.Dir(l.path))
	if err == nil {
		defer leave()
		if now, err := os.Lstat(l.path); err == nil && os.SameFile(now, l.file) {
			_ = os.Remove(l.path)
		}
	}
	return l.UnixListener.Close()
}
