package serial

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// known returns the devices of the kernel's terminals that have hardware behind them.
func known() (paths []string, err error) {
	found, err := filepath.Glob("/sys/class/tty/*/device")
	if err != nil {
		return nil, err
	}
	for _, name := range found {
		folder := filepath.Dir(name)
		// The driver of 16550s has ports for which no chip was found: their type is 0 (PORT_UNKNOWN).
		if kind, err := os.ReadFile(filepath.Join(folder, "type")); err == nil && strings.TrimSpace(string(kind)) == "0" {
			continue
		}
		if path := "/dev/" + filepath.Base(folder); noLine(path) == "" {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// lockedBy returns the process that the lock file of a device names.
func lockedBy(device string) (pid int, program string) {
	pid, err := Holder(LockFile(DefaultLockDir, device))
	if err != nil || pid == 0 {
		return 0, ""
	}
	return pid, Program(pid)
}

// lacks names the right that the user lacks to open a device; empty: none.
func lacks(device string) string {
	if unix.Access(device, unix.R_OK|unix.W_OK) == nil {
		return ""
	}
	return access(device)
}
