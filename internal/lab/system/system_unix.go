//go:build unix

package system

import (
	"os"
	"syscall"
)

// Signals that Windows has no names for.
const (
	SIGCONT = syscall.SIGCONT
	SIGSTOP = syscall.SIGSTOP
	SIGUSR1 = syscall.SIGUSR1
)

// Kill is kill(2).
func Kill(pid int, s syscall.Signal) error { return syscall.Kill(pid, s) }

// Mkfifo is mkfifo(3).
func Mkfifo(path string, mode uint32) error { return syscall.Mkfifo(path, mode) }

// Lock waits for the lock of a file, which lasts until it is closed (flock(2)).
func Lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX) }

// Leader makes a program lead a process group of its own; with a terminal, a session with its standard input as the
// terminal.
func Leader(terminal bool) *syscall.SysProcAttr {
	if terminal {
		return &syscall.SysProcAttr{Setsid: true, Setctty: true}
	}
	return &syscall.SysProcAttr{Setpgid: true}
}

// AtTerminal makes a program that is started with attr, which may be nil, lead a session, with its standard input as the
// terminal.
func AtTerminal(attr *syscall.SysProcAttr) *syscall.SysProcAttr {
	if attr == nil {
		return Leader(true)
	}
	attr.Setsid, attr.Setctty = true, true
	return attr
}

// UrgentInLine has a TCP socket show urgent data among the other (SO_OOBINLINE, socket(7)).
func UrgentInLine(fd uintptr) error {
	return syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_OOBINLINE, 1)
}

// As has a program run with the ids of a user and a group.
func As(uid, gid uint32) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gid}}
}
