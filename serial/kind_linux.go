package serial

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// drivers is the kernel's list of the drivers of terminals (proc_tty(5)): name, node, major, minors, type.
const drivers = "/proc/tty/drivers"

// otherKind says why a device is neither a serial line nor a pseudo-terminal, by the kernel's own list; empty: it is
// one. A virtual console, /dev/tty and a pseudo-terminal's master are other kinds, and other devices have no driver
// in the list.
func otherKind(device uint64) string {
	list, err := os.Open(drivers)
	if err != nil {
		return fmt.Sprintf("the kernel's list of terminals cannot be read: %v", err)
	}
	defer list.Close()
	major, minor := unix.Major(device), unix.Minor(device)
	for lines := bufio.NewScanner(list); lines.Scan(); {
		f := strings.Fields(lines.Text())
		if len(f) < 5 || f[2] != strconv.FormatUint(uint64(major), 10) || !inRange(f[3], minor) {
			continue
		}
		switch f[len(f)-1] {
		case "serial", "pty:slave":
			return ""
		}
		return "it is a terminal of another kind (" + f[len(f)-1] + ")"
	}
	return "it is no terminal"
}

// inRange reports whether a number is in a range such as 64 or 1-63. A lone first number of serial lines is the only one.
func inRange(text string, n uint32) bool {
	first, last, ok := strings.Cut(text, "-")
	if !ok {
		last = first
	}
	from, err1 := strconv.ParseUint(first, 10, 32)
	to, err2 := strconv.ParseUint(last, 10, 32)
	return err1 == nil && err2 == nil && uint64(n) >= from && uint64(n) <= to
}
