//go:build unix

package ptypair

import (
	"errors"
	"runtime"
	"syscall"
)

// Exhausted reports whether an error of Open says that the system has no terminal left: ENOSPC of devpts (Linux), EAGAIN
// of posix_openpt(2) (FreeBSD).
func Exhausted(err error) bool { return exhausted(runtime.GOOS, err) }

func exhausted(system string, err error) bool {
	if system == "freebsd" { // on Linux, EAGAIN would mean something else
		return errors.Is(err, syscall.EAGAIN)
	}
	return errors.Is(err, syscall.ENOSPC)
}

// Setting names what limits the terminals of the system.
func Setting() string { return settingOf(runtime.GOOS) }

func settingOf(system string) string {
	if system == "freebsd" {
		return "the user's limit of pseudo-terminals (limits -p, login.conf)"
	}
	return "kernel.pty.max"
}
