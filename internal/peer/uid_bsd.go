//go:build darwin || freebsd

package peer

import "golang.org/x/sys/unix"

// uid returns the user of the connected process, by LOCAL_PEERCRED of unix(4), as
// getpeereid(3) does.
func uid(fd int) (int, error) {
	cred, err := unix.GetsockoptXucred(fd, solLocal, unix.LOCAL_PEERCRED)
	if err != nil {
		return -1, err
	}
	return int(cred.Uid), nil
}

// solLocal is the level of socket options for Unix sockets.
const solLocal = 0
