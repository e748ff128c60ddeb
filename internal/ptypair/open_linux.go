package ptypair

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Open returns a new terminal: its master, in non-blocking mode, and the side for programs.
//
// The master itself opens the other side (TIOCGPTPEER, ioctl_tty(2)), so it does not matter which /dev/pts this process
// sees.
func Open() (master, tty *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, &os.PathError{Op: "open", Path: "/dev/ptmx", Err: err}
	}
	master = os.NewFile(uintptr(fd), "/dev/ptmx")
	err = Control(master, func(fd int) error {
		if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
			return os.NewSyscallError("TIOCSPTLCK", err)
		}
		n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
		if err != nil {
			return os.NewSyscallError("TIOCGPTN", err)
		}
		peer, _, errno := unix.Syscall(
			unix.SYS_IOCTL,
			uintptr(fd),
			unix.TIOCGPTPEER,
			unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC,
		)
		if errno != 0 {
			return os.NewSyscallError("TIOCGPTPEER", errno)
		}
		tty = os.NewFile(peer, "/dev/pts/"+strconv.Itoa(n))
		return nil
	})
	if err != nil {
		_ = master.Close()
		return nil, nil, err
	}
	return master, tty, nil
}
