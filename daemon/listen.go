package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"

	"ptyctl/control"
)

// ErrRuns means that a daemon with this configuration runs already.
var ErrRuns = errors.New("a daemon with this configuration runs already")

// Listen makes the socket of a place. A stale one, of a process that has ended, is replaced under the lock of the
// folder; of several processes one gets it, and the others an error that is ErrRuns. Listen removes unused files of
// other configurations.
func Listen(p Place, log *slog.Logger) (net.Listener, error) {
	l, err := control.Listen(p.Socket(), log)
	if errors.As(err, new(*control.InUseError)) {
		return nil, fmt.Errorf("%w, at %s", ErrRuns, p.Socket())
	}
	if err != nil {
		return nil, p.unusable(err)
	}
	p.sweep(log)
	return l, nil
}

// firstActivated is the first descriptor of sd_listen_fds(3).
const firstActivated = 3

// Activated returns the socket that a service manager has bound for this process (sd_listen_fds(3)); nil: none has.
// It must be called once, before the process opens files.
func Activated(log *slog.Logger) (net.Listener, error) {
	pid, n := os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS")
	if n == "" || pid != strconv.Itoa(os.Getpid()) {
		return nil, nil
	}
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		_ = os.Unsetenv(name) // the programs of sessions are not meant
	}
	if n != "1" {
		return nil, fmt.Errorf("the service manager passes %s sockets; the unit must have one ListenStream", n)
	}
	f := os.NewFile(firstActivated, "activated")
	if f == nil {
		return nil, errors.New("the service manager passes no usable socket")
	}
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("the socket of the service manager: %w", err)
	}
	if l, err = control.Inherited(l, log); err != nil {
		return nil, err
	}
	return inherited{l}, nil
}

// An inherited listener belongs to the service manager, with its socket.
type inherited struct{ net.Listener }
