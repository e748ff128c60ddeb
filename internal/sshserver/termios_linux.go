package sshserver

import "golang.org/x/sys/unix"

const (
	ioctlGetTermios = unix.TCGETS
	ioctlSetTermios = unix.TCSETS
	iutf8           = unix.IUTF8
	disabledChar    = 0 // _POSIX_VDISABLE
)

// flag is the type of the flag fields of struct termios.
type flag = uint32
