package peer

import "syscall"

// uid returns the user of the connected process, by SO_PEERCRED of unix(7).
func uid(fd int) (int, error) {
	cred, err := syscall.GetsockoptUcred(fd, syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	if err != nil {
		return -1, err
	}
	return int(cred.Uid), nil
}
