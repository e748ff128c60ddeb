package peer

import "golang.org/x/sys/unix"

// uid returns the user of the connected process, by SO_PEERCRED of unix(7).
func uid(fd int) (int, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return -1, err
	}
	return int(cred.Uid), nil
}
