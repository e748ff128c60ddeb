//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package tty

import (
	"os"

	"golang.org/x/sys/unix"
)

// addsReturns reports whether f is a terminal that writes CR LF for each LF (OPOST and ONLCR of termios(3)).
func addsReturns(f *os.File) bool {
	t, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	return err == nil && t.Oflag&unix.OPOST != 0 && t.Oflag&unix.ONLCR != 0
}
