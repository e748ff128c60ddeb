//go:build freebsd && (amd64 || arm64)

package protect

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Constants of sys/procctl.h and sys/wait.h.
const (
	idPID           = 0 // P_PID
	traceCtl        = 7 // PROC_TRACE_CTL
	traceCtlDisable = 2 // PROC_TRACE_CTL_DISABLE: until execve(2)
)

// protectMemory refuses debuggers and core files from now on (PROC_TRACE_CTL,
// procctl(2)).
func protectMemory() error {
	how := int32(traceCtlDisable)
	_, _, errno := unix.Syscall6(
		unix.SYS_PROCCTL, idPID, uintptr(unix.Getpid()), traceCtl, uintptr(unsafe.Pointer(&how)), 0, 0)
	if errno != 0 {
		return fmt.Errorf("procctl(PROC_TRACE_CTL): %w", errno)
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
