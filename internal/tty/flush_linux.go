package tty

import (
	"os"

	"golang.org/x/sys/unix"
)

// Flush drops the unread input of a terminal: keys that were meant for an earlier question.
func Flush(f *os.File) { _ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) }

// getTermios reads the settings of a terminal (ioctl_tty(2)).
const getTermios = unix.TCGETS
