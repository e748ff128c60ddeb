//go:build linux || darwin || freebsd

package sshserver

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"

	"ptyctl/internal/ptypair"
)

// openPTY opens a terminal with the window and modes of p. Close of the master wakes Read and Write on every system: on
// others than Linux, ptypair opens masters in blocking mode.
func openPTY(p *PTY) (master, tty *os.File, err error) {
	opened, tty, err := ptypair.Open()
	if err != nil {
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	defer opened.Close()
	master, err = nonblocking(opened)
	if err == nil {
		err = errors.Join(setWindow(master, p.Window), setModes(master, p.Modes))
	}
	if err != nil {
		tty.Close()
		if master != nil {
			master.Close()
		}
		return nil, nil, fmt.Errorf("set up a terminal: %w", err)
	}
	return master, tty, nil
}

// nonblocking returns a copy of f that the runtime polls.
func nonblocking(f *os.File) (*os.File, error) {
	var fd int
	err := ptypair.Control(f, func(old int) (err error) {
		if fd, err = unix.FcntlInt(uintptr(old), unix.F_DUPFD_CLOEXEC, 0); err != nil {
			return err
		}
		return unix.SetNonblock(fd, true)
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// setWindow sets the size of the window; the kernel sends SIGWINCH.
func setWindow(f *os.File, w Window) error { return ptypair.Resize(f, int(w.Cols), int(w.Rows)) }

// setModes sets the given modes and keeps all others.
func setModes(f *os.File, modes ssh.TerminalModes) error {
	return ptypair.Control(f, func(fd int) error {
		t, err := unix.IoctlGetTermios(fd, ioctlGetTermios)
		if err != nil {
			return err
		}
		applyModes(t, modes)
		return unix.IoctlSetTermios(fd, ioctlSetTermios, t)
	})
}

// copyOutput copies the output of the terminal until it is closed. On a master, EIO means
// that no process has the terminal open any more. A passed deadline means that the shell
// has ended while another process still has the terminal open; then only the output
// already written is copied.
func copyOutput(to io.Writer, master *os.File) {
	_, err := io.Copy(to, readerOnly{master})
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return
	}
	buf := make([]byte, 32<<10)
	for {
		var n int
		err := ptypair.Control(master, func(fd int) (err error) {
			n, err = unix.Read(fd, buf)
			return err
		})
		if err != nil || n <= 0 {
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// readerOnly hides the other methods of a file, so that io.Copy only reads.
type readerOnly struct{ io.Reader }
