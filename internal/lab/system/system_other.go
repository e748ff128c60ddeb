//go:build !unix

package system

import (
	"errors"
	"os"
	"syscall"
)

// Signals that Windows has no names for.
const (
	SIGCONT syscall.Signal = 18
	SIGSTOP syscall.Signal = 19
	SIGUSR1 syscall.Signal = 10
)

// Kill is kill(2).
func Kill(int, syscall.Signal) error { return errors.ErrUnsupported }

// Mkfifo is mkfifo(3).
func Mkfifo(string, uint32) error { return errors.ErrUnsupported }

// Lock waits for the lock of a file, which lasts until it is closed (flock(2)).
func Lock(*os.File) error { return errors.ErrUnsupported }

// Leader has no effect on this system; elsewhere, it makes a program lead a process group or a session.
func Leader(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// AtTerminal has no effect on this system; elsewhere, it makes a program lead a session.
func AtTerminal(attr *syscall.SysProcAttr) *syscall.SysProcAttr { return attr }

// UrgentInLine has a TCP socket show urgent data among the other (SO_OOBINLINE, socket(7)).
func UrgentInLine(uintptr) error { return errors.ErrUnsupported }

// As has a program run with the ids of a user and a group.
func As(uint32, uint32) *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
