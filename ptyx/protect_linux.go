package ptyx

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// protectMemory makes this process one that cannot be dumped (PR_SET_DUMPABLE, prctl(2)): ptrace(2), process_vm_readv(2)
// and what /proc has of its memory and environment are then for root alone. execve(2) takes it back, so what is started
// is as ever.
func protectMemory() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("prctl(PR_SET_DUMPABLE): %w", err)
	}
	return withholdCore()
}

func unprotected() string {
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	switch {
	case err != nil:
		return "the system does not say whether it is: " + err.Error()
	case dumpable != 0:
		return "it was not asked for"
	case unix.Geteuid() == 0:
		return "it runs as root, and nothing keeps root from the memory of a process"
	}
	return ""
}
