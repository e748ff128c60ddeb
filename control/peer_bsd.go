//go:build darwin || freebsd

package control

import "golang.org/x/sys/unix"

// peerUID is whose process is connected, by LOCAL_PEERCRED of unix(4): what getpeereid(3) calls.
func peerUID(fd int) (int, error) {
	cred, err := unix.GetsockoptXucred(fd, solLocal, unix.LOCAL_PEERCRED)
	if err != nil {
		return -1, err
	}
	return int(cred.Uid), nil
}

// solLocal is the level of options of Unix sockets.
const solLocal = 0
