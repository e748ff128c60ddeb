package ptyx

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"ptyctl/internal/ptypair"
	"ptyctl/term"
)

// A pty is the master of a pseudo-terminal in non-blocking mode: a waiting read or write costs no thread, and ends when
// the file is closed.
type pty struct {
	f       *os.File
	drained atomic.Int64 // bytes read after the end of the program
}

// openPTY returns a new terminal. It is set to UTF-8, so that the erase key removes whole characters.
func openPTY(cols, rows int) (*pty, *os.File, error) {
	f, tty, err := ptypair.Open()
	if err != nil {
		return nil, nil, err
	}
	t := &pty{f: f}
	if err = setUTF8(tty); err == nil {
		err = t.resize(cols, rows)
	}
	if err != nil {
		_ = f.Close()
		_ = tty.Close()
		return nil, nil, err
	}
	return t, tty, nil
}

// setUTF8 sets a terminal to UTF-8 (IUTF8, termios(3)). It is in blocking mode.
func setUTF8(tty *os.File) error {
	fd := int(tty.Fd())
	modes, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return os.NewSyscallError("TCGETS", err)
	}
	modes.Iflag |= unix.IUTF8
	return os.NewSyscallError("TCSETS", unix.IoctlSetTermios(fd, unix.TCSETS, modes))
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
	err = ptypair.Control(t.f, func(fd int) (err error) {
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
func (t *pty) resize(cols, rows int) error { return ptypair.Resize(t.f, cols, rows) }

// foreground returns the foreground process group of the terminal, or 0.
func (t *pty) foreground() (pgid int) {
	_ = ptypair.Control(t.f, func(fd int) (err error) {
		pgid, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		return err
	})
	return pgid
}

// drain wakes a waiting read: from now on only the rest of the output is read.
func (t *pty) drain() { _ = t.f.SetReadDeadline(past) } // fails only after close

// close closes the terminal, and wakes waiting readers and writers.
func (t *pty) close() error { return t.f.Close() }
