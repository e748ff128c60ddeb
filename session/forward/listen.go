package forward

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"ptyctl/internal/rundir"
)

// socketName is the name of each socket in its own folder.
const socketName = "sock"

// maxPath is the longest path of a socket everywhere: 104 bytes of sun_path on macOS, with its NUL.
const maxPath = 103

// listenAt listens at a new place. The port is that of the far side.
func listenAt(dir string, port int, r Request) (place, error) {
	if r.TCP {
		l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: r.Port})
		if err != nil {
			return place{}, fmt.Errorf("port %d of 127.0.0.1 cannot be used: %w; give another port, or 0 for any that is free", r.Port, err)
		}
		return place{listener: l, port: l.Addr().(*net.TCPAddr).Port}, nil
	}
	if dir == "" {
		runtime, err := rundir.Dir()
		if err == nil {
			err = rundir.Own(runtime)
		}
		if err != nil {
			return place{}, err
		}
		dir = socketsOf(runtime)
	}
	if err := rundir.Own(dir); err != nil {
		return place{}, err
	}
	sweep(dir)
	return listenIn(filepath.Join(dir, strings.ToLower(rand.Text()[:10])), port)
}

// socketsOf returns the folder for the folders of the sockets.
func socketsOf(runtime string) string { return filepath.Join(runtime, "forward") }

// A State is that of a path at which a forward of this user may listen.
type State int

// The states.
const (
	Foreign  State = iota // it is no path of a forward
	Live                  // a process listens there, or it cannot be seen whether one does
	Leftover              // no process listens there any more
)

// StateOf distinguishes the paths that forwards in the user's runtime folder have, or had, from all others.
func StateOf(path string) State {
	runtime, err := rundir.Dir()
	switch {
	case err != nil, filepath.Base(path) != socketName, filepath.Dir(filepath.Dir(path)) != socketsOf(runtime):
		return Foreign
	case gone(path):
		return Leftover
	}
	return Live
}

// listenIn makes a folder with a socket in it, for this user alone. A link beside the socket has the name that the
// clients of PostgreSQL make of a folder and a port (libpq, "host").
func listenIn(folder string, port int) (place, error) {
	path, link := filepath.Join(folder, socketName), filepath.Join(folder, ".s.PGSQL."+strconv.Itoa(port))
	if len(link) > maxPath {
		return place{}, fmt.Errorf("the path of the runtime folder is too long: a socket may have %d bytes, and %s has %d",
			maxPath, link, len(link))
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		return place{}, err
	}
	remove := func() error {
		return errors.Join(removed(path), removed(link), removed(folder))
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		_ = remove()
		return place{}, err
	}
	l.SetUnlinkOnClose(false) // remove does it
	// The mode of the folder has kept others out since before the socket existed.
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close()
		_ = remove()
		return place{}, err
	}
	_ = os.Symlink(socketName, link) // needs a privilege on Windows, and all other clients do without
	return place{listener: l, socket: path, remove: remove}, nil
}

// removed removes a file, if it is there.
func removed(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
