package protect

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// protectMemory refuses debuggers from now on (PT_DENY_ATTACH, ptrace(2)), and
// turns core files off.
func protectMemory() error {
	if err := unix.PtraceDenyAttach(); err != nil {
		return fmt.Errorf("ptrace(PT_DENY_ATTACH): %w", err)
	}
	return withholdCore()
}

// unprotected implements Unprotected.
func unprotected() string {
	if unix.Geteuid() == 0 {
		return "it runs as root, and nothing keeps root from the memory of a process"
	}
	return ""
}
