package sshserver

import "golang.org/x/sys/unix"

const (
	ioctlGetTermios = unix.TIOCGETA
	ioctlSetTermios = unix.TIOCSETA
	iutf8           = 0    // not offered
	disabledChar    = 0xff // _POSIX_VDISABLE
)

// flag is the type of the flag fields of struct termios.
type flag = uint32
