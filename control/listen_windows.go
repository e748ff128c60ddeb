package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/windows"

	"ptyctl/internal/rundir"
	"ptyctl/internal/winpipe"
)

// lockWait is how long Listen waits for the lock of its file, which others take only to look.
const lockWait = 2 * time.Second

// A listener is a control socket: a pipe, and a file with its name. The file is locked as long as the process lives.
type listener struct {
	*winpipe.Listener
	path   string
	unlock func() // closes the file
}

// Listen creates the socket, and its folder if necessary. If log is nil, refusals are not
// logged. Closing the listener removes the socket.
func Listen(path string, log *slog.Logger) (net.Listener, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("control: a socket needs an absolute path, not %q", path)
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
	name := winpipe.NewName()
	l, err := winpipe.Listen(name, func(err error) {
		log.Warn("control connection refused", "socket", path, "error", err)
	})
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	unlock, err := publish(path, name)
	if err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("control: %w", err)
	}
	sweep(dir)
	return &listener{Listener: l, path: path, unlock: unlock}, nil
}

// publish makes the file of a socket, whole from its first moment, and locks it. Requires rundir.Enter.
func publish(path, name string) (unlock func(), err error) {
	made := path + ".new"
	if err := os.WriteFile(made, []byte(name+"\n"), 0o600); err != nil {
		return nil, err
	}
	if err = os.Rename(made, path); err == nil {
		if unlock, err = rundir.Lock(context.Background(), path, lockWait); err == nil {
			return unlock, nil
		}
		_ = os.Remove(path)
	}
	_ = os.Remove(made)
	return nil, err
}

// Vacate removes the socket of a dead process from path, and fails for any other file there; it returns an *InUseError
// if a process serves it. Requires rundir.Enter of its folder.
func Vacate(path string) error { return vacate(path) }

// vacate removes the socket of a dead process from path, and fails for any other file
// there. Requires rundir.Enter.
func vacate(path string) error {
	_, err := pipeAt(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%w: it was not touched; remove it, or use another path", err)
	case alive(path):
		return &InUseError{Path: path}
	}
	return os.Remove(path)
}

// maxName is longer than the name of any pipe.
const maxName = 256

// pipeAt returns the name of the pipe of a socket.
func pipeAt(path string) (string, error) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s exists and is not a socket", path)
	}
	f, err := look(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxName))
	if err != nil {
		return "", err
	}
	name, whole := strings.CutSuffix(string(text), "\n")
	if !whole || !winpipe.IsName(name) {
		return "", fmt.Errorf("%s exists and is not a socket", path)
	}
	return name, nil
}

// look opens a socket for reading, so that it can be removed meanwhile.
func look(path string) (*os.File, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	h, err := windows.CreateFile(name, windows.GENERIC_READ, share, nil, windows.OPEN_EXISTING,
		windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(h), path), nil
}

// alive reports whether a process may serve a socket. It is false only if none has the lock.
func alive(path string) bool {
	f, err := look(path)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	return rundir.Held(f)
}

// sweep removes the sockets of killed processes from the folder. Requires rundir.Enter.
func sweep(dir string) {
	for _, s := range in(dir) {
		_ = vacate(s.Path) // sockets of live processes stay
	}
}

// Close stops listening and removes the socket.
func (l *listener) Close() error {
	err := l.Listener.Close()
	if errors.Is(err, net.ErrClosed) {
		return err // the socket may be that of another by now
	}
	if leave, bad := rundir.Enter(filepath.Dir(l.path)); bad == nil {
		defer leave()
	}
	l.unlock()
	_ = os.Remove(l.path)
	return err
}
