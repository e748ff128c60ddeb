package protect

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// protectMemory makes this process undumpable (PR_SET_DUMPABLE, prctl(2)): only
// root can then use ptrace(2) and process_vm_readv(2) on it, or read its memory and
// environment in /proc. execve(2) resets the flag, so started programs are not
// affected.
func protectMemory() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("prctl(PR_SET_DUMPABLE): %w", err)
	}
	return withholdCore()
}

// unprotected implements Unprotected.
func unprotected() string {
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	switch {
	case err != nil:
		return "the state of the protection is unknown: " + err.Error()
	case dumpable != 0:
		return "the protection was not requested"
	case unix.Geteuid() == 0:
		return "it runs as root, and nothing keeps root from the memory of a process"
	}
	return ""
}
