//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package tty

import (
	"os"

	"golang.org/x/sys/unix"
)

// fread is FREAD of <sys/fcntl.h>, which TIOCFLUSH takes for the input.
const fread = 1

// Flush drops the unread input of a terminal: keys that were meant for an earlier question.
func Flush(f *os.File) { _ = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, fread) }

// getTermios reads the settings of a terminal (tty(4)).
const getTermios = unix.TIOCGETA
