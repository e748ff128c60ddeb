package control

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// peerPID returns the connected process, by SO_PEERCRED.
func peerPID(fd int) (int, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(cred.Pid), nil
}

// holdPeer returns a function that says whether the process that has connected still runs, by SO_PEERPIDFD of Linux
// 6.5. On a kernel without that option it never returns an error.
func holdPeer(fd int) (ended func() error, release func(), err error) {
	pidfd, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	switch {
	case errors.Is(err, unix.ENOPROTOOPT):
		return func() error { return nil }, func() {}, nil
	case err != nil:
		return nil, nil, fmt.Errorf("%w (%w)", errPeerEnded, err)
	}
	unix.CloseOnExec(pidfd)
	return func() error {
		// Of a process that waits to be reaped its number is still its own.
		if err := unix.PidfdSendSignal(pidfd, 0, nil, 0); errors.Is(err, unix.ESRCH) {
			return errPeerEnded
		}
		return nil
	}, func() { _ = unix.Close(pidfd) }, nil
}
