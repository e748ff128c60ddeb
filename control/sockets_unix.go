//go:build unix

package control

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"ptyctl/internal/rundir"
)

// IsSocket reports whether a file can be a socket.
func IsSocket(e fs.DirEntry) bool { return e.Type()&fs.ModeSocket != 0 }

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
	case rundir.Foreign(info) != "":
		return nil, fmt.Errorf("control: %s %s; its sockets are ignored", dir, rundir.Foreign(info))
	}
	var live []Socket
	for _, s := range in(dir) {
		if alive(s.Path) {
			live = append(live, s)
		}
	}
	return live, nil
}
