package control

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ptyctl/internal/rundir"
)

// suffix follows the process id in the name of a socket.
const suffix = ".sock"

// A Socket is the control socket of a process.
type Socket struct {
	PID  int
	Path string
}

// Path returns the default path of the socket of a process of this user.
func Path(pid int) (string, error) {
	dir, err := rundir.Dir()
	if err != nil {
		return "", fmt.Errorf("control: %w", err)
	}
	return filepath.Join(dir, fmt.Sprintf("%d%s", pid, suffix)), nil
}

// InUseError says that another process serves the socket.
type InUseError struct{ Path string }

func (e *InUseError) Error() string {
	return fmt.Sprintf("another process serves %s; leave the path out, and each ptyctl has a socket of its own", e.Path)
}

// in returns the sockets in a folder, sorted by process id. Their processes may have
// ended: the caller must connect to find out.
func in(dir string) []Socket {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var found []Socket
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), suffix)
		if !ok || !IsSocket(e) {
			continue
		}
		if pid, err := strconv.Atoi(name); err == nil && pid > 0 && strconv.Itoa(pid) == name {
			found = append(found, Socket{PID: pid, Path: filepath.Join(dir, e.Name())})
		}
	}
	slices.SortFunc(found, func(a, b Socket) int { return a.PID - b.PID })
	return found
}

// Sockets returns the sockets of this user's running processes, sorted by process id. It
// does not find sockets with a path chosen by the operator.
func Sockets() ([]Socket, error) {
	dir, err := rundir.Dir()
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	switch info, err := os.Lstat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("control: %w", err)
	case foreign(info) != "":
		return nil, fmt.Errorf("control: %s %s; its sockets are ignored", dir, foreign(info))
	}
	var live []Socket
	for _, s := range in(dir) {
		if alive(s.Path) {
			live = append(live, s)
		}
	}
	return live, nil
}
