//go:build unix

package ptypair

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Resize sets the size of the window, in cells; the kernel sends SIGWINCH.
func Resize(master *os.File, cols, rows int) error {
	size := unix.Winsize{Col: uint16(min(cols, 0xffff)), Row: uint16(min(rows, 0xffff))}
	return Control(master, func(fd int) error {
		return os.NewSyscallError("TIOCSWINSZ", unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &size))
	})
}

// Control calls do with the descriptor of f, which cannot be closed during the call. File.Fd would not ensure that, and
// may put f into blocking mode.
func Control(f *os.File, do func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var doErr error
	err = conn.Control(func(fd uintptr) { doErr = do(int(fd)) })
	return errors.Join(err, doErr)
}
