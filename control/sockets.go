package control

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// suffix follows the process id in the name of a socket.
const suffix = ".sock"

// A Socket is the control socket of a process.
type Socket struct {
	PID  int
	Path string
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
		if !ok || e.Type()&os.ModeSocket == 0 {
			continue
		}
		if pid, err := strconv.Atoi(name); err == nil && pid > 0 && strconv.Itoa(pid) == name {
			found = append(found, Socket{PID: pid, Path: filepath.Join(dir, e.Name())})
		}
	}
	slices.SortFunc(found, func(a, b Socket) int { return a.PID - b.PID })
	return found
}
