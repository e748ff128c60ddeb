package fence

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// cut ends the connection of a socket for all processes that have it.
//
// shutdown(2) alone is not enough: the kernel still sends the data that it had accepted before. When the far side of a
// connection did not read, 4.1 MB arrived after a shutdown, also with SO_LINGER 0 or TCP_USER_TIMEOUT, and nothing
// after this function. connect(2) with the family AF_UNSPEC dissolves a TCP connection: the kernel discards the unsent
// data, resets the connection (RST), and refuses later writes with EPIPE. It needs no privilege.
func cut(fd int) error {
	unspecified := unix.RawSockaddr{Family: unix.AF_UNSPEC}
	var errno unix.Errno
	for range 100 {
		_, _, errno = unix.Syscall(
			unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&unspecified)), unsafe.Sizeof(unspecified),
		)
		if errno != unix.EINTR {
			break
		}
	}
	// Shut down also if connect has worked: whatever the socket was, nothing is sent or read with it.
	err := unix.Shutdown(fd, unix.SHUT_RDWR)
	if errno == 0 {
		return nil
	}
	// A kernel from 6.5 on refuses (EBUSY) while a thread waits in the socket, which no thread does for a socket of
	// package net. All that is left is to send nothing new, and to reset at the last close.
	_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	if err != nil {
		return err
	}
	return errno
}
