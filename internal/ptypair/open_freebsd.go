package ptypair

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Open returns a new terminal: its master, in blocking mode, and the side for programs (posix_openpt(2), pts(4)).
func Open() (master, tty *os.File, err error) {
	fd, _, errno := unix.Syscall(unix.SYS_POSIX_OPENPT, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0, 0)
	if errno != 0 {
		return nil, nil, &os.PathError{Op: "open", Path: "/dev/ptmx", Err: errno}
	}
	master = os.NewFile(fd, "/dev/ptmx")
	err = Control(master, func(fd int) error {
		n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
		if err != nil {
			return os.NewSyscallError("TIOCGPTN", err)
		}
		tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
		return err
	})
	if err != nil {
		_ = master.Close()
		return nil, nil, err
	}
	return master, tty, nil
}
