package ptypair

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Open returns a new terminal: its master, in blocking mode, and the side for programs.
func Open() (master, tty *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, &os.PathError{Op: "open", Path: "/dev/ptmx", Err: err}
	}
	master = os.NewFile(uintptr(fd), "/dev/ptmx")
	err = Control(master, func(fd int) error {
		if err := unix.IoctlSetInt(fd, unix.TIOCPTYGRANT, 0); err != nil {
			return os.NewSyscallError("TIOCPTYGRANT", err)
		}
		if err := unix.IoctlSetInt(fd, unix.TIOCPTYUNLK, 0); err != nil {
			return os.NewSyscallError("TIOCPTYUNLK", err)
		}
		var name [128]byte // the size is part of TIOCPTYGNAME
		_, _, errno := unix.Syscall(
			unix.SYS_IOCTL,
			uintptr(fd),
			unix.TIOCPTYGNAME,
			uintptr(unsafe.Pointer(&name)),
		)
		if errno != 0 {
			return os.NewSyscallError("TIOCPTYGNAME", errno)
		}
		tty, err = os.OpenFile(unix.ByteSliceToString(name[:]), os.O_RDWR|unix.O_NOCTTY, 0)
		return err
	})
	if err != nil {
		_ = master.Close()
		return nil, nil, err
	}
	return master, tty, nil
}
