package control

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// suffix ends the name of a socket, before which stands the process id.
const suffix = ".sock"

// A Socket is where a process may be reached.
type Socket struct {
	PID  int
	Path string
}

// in returns the sockets in a folder, by process id. That they are there does not say that anybody serves them.
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
