package ptyx

import (
	"errors"
	"io"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"ptyctl/term"
)

// A pty is the master of a pseudo-terminal (pty(7)) in non-blocking mode: a waiting
// read or write costs no thread, and ends when the file is closed. creack/pty
// leaves its files in blocking mode, which has neither property.
type pty struct {
	f       *os.File
	drained atomic.Int64 // bytes read after the end of the program
}

// openPTY returns a new terminal. The master itself opens its other side
// (TIOCGPTPEER, ioctl_tty(2)), so it does not matter which /dev/pts this process
// sees.
func openPTY(cols, rows int) (*pty, *os.File, error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, &os.PathError{Op: "open", Path: "/dev/ptmx", Err: err}
	}
	t := &pty{f: os.NewFile(uintptr(fd), "/dev/ptmx")}
	tty, err := t.peer()
	if err == nil {
		err = t.resize(cols, rows)
	}
	if err != nil {
		_ = t.f.Close()
		if tty != nil {
			_ = tty.Close()
		}
		return nil, nil, err
	}
	return t, tty, nil
}

// peer unlocks and opens the other side, and sets it to UTF-8, so that the erase
// key removes whole characters.
func (t *pty) peer() (tty *os.File, err error) {
	err = t.control(func(master int) error {
		if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
			return os.NewSyscallError("TIOCSPTLCK", err)
		}
		n, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
		if err != nil {
			return os.NewSyscallError("TIOCGPTN", err)
		}
		name := "/dev/pts/" + strconv.Itoa(n)
		fd, _, errno := unix.Syscall(
			unix.SYS_IOCTL,
			uintptr(master),
			unix.TIOCGPTPEER,
			unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC,
		)
		if errno != 0 {
			return os.NewSyscallError("TIOCGPTPEER", errno)
		}
		tty = os.NewFile(fd, name)
		modes, err := unix.IoctlGetTermios(int(fd), unix.TCGETS)
		if err != nil {
			return os.NewSyscallError("TCGETS", err)
		}
		modes.Iflag |= unix.IUTF8
		return os.NewSyscallError("TCSETS", unix.IoctlSetTermios(int(fd), unix.TCSETS, modes))
	})
	return tty, err
}

// control calls do with the descriptor, which cannot be closed during the call.
func (t *pty) control(do func(fd int) error) error {
	conn, err := t.f.SyscallConn()
	if err != nil {
		return err
	}
	var doErr error
	err = conn.Control(func(fd uintptr) { doErr = do(int(fd)) })
	return errors.Join(err, doErr)
}

// read reads output. On a master, EIO means that no process has the other side
// open. A passed deadline means that the program has ended, and that only the rest
// of its output is left.
func (t *pty) read(p []byte) (int, error) {
	n, err := t.f.Read(p)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return t.rest(p)
	case errors.Is(err, syscall.EIO), errors.Is(err, os.ErrClosed):
		return n, io.EOF
	}
	return n, err
}

// rest reads the output that the terminal still holds after the end of the program.
func (t *pty) rest(p []byte) (n int, err error) {
	if t.drained.Load() >= drainLimit {
		return 0, io.EOF
	}
	err = t.control(func(fd int) (err error) {
		for {
			if n, err = unix.Read(fd, p); err != unix.EINTR {
				return err
			}
		}
	})
	if err != nil || n <= 0 {
		return 0, io.EOF
	}
	t.drained.Add(int64(n))
	return n, nil
}

// write writes input. It returns RemoteClosed after the program's end.
func (t *pty) write(p []byte) (int, error) {
	n, err := t.f.Write(p)
	if errors.Is(err, syscall.EIO) || errors.Is(err, os.ErrClosed) {
		err = &term.Error{Op: "write", Kind: term.RemoteClosed, Msg: "the program has ended", Err: err}
	}
	return n, err
}

// resize sets the size of the window; the kernel sends SIGWINCH.
func (t *pty) resize(cols, rows int) error {
	size := unix.Winsize{Col: uint16(min(cols, 0xffff)), Row: uint16(min(rows, 0xffff))}
	return t.control(func(fd int) error {
		return os.NewSyscallError("TIOCSWINSZ", unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &size))
	})
}

// foreground returns the foreground process group of the terminal, or 0.
func (t *pty) foreground() (pgid int) {
	_ = t.control(func(fd int) (err error) {
		pgid, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		return err
	})
	return pgid
}

// drain wakes a waiting read: from now on only the rest of the output is read.
func (t *pty) drain() { _ = t.f.SetReadDeadline(past) } // fails only after close

// close closes the terminal, and wakes waiting readers and writers.
func (t *pty) close() error { return t.f.Close() }
