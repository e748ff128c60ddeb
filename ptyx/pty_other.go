//go:build unix && !linux

package ptyx

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"ptyctl/internal/ptypair"
	"ptyctl/term"
)

// A pty is the master of a pseudo-terminal, which is in blocking mode. Therefore a goroutine does the writing, so that a
// waiting caller can be woken. A read ends when the programs are gone.
type pty struct {
	f      *os.File
	pieces chan piece
	closed chan struct{}
	hangUp sync.Once
}

// A piece is one pending write.
type piece struct {
	data  []byte
	taken chan<- written // buffered
}

// written is the result of a write.
type written struct {
	n   int
	err error
}

// openPTY returns a new terminal.
func openPTY(cols, rows int) (*pty, *os.File, error) {
	f, tty, err := ptypair.Open()
	if err != nil {
		return nil, nil, err
	}
	t := &pty{f: f, pieces: make(chan piece), closed: make(chan struct{})}
	if err := t.resize(cols, rows); err != nil {
		_ = f.Close()
		_ = tty.Close()
		return nil, nil, err
	}
	go t.writer() // ends with close, or with a write that blocks at that time
	return t, tty, nil
}

// writer writes the pieces, one after the other.
func (t *pty) writer() {
	for {
		select {
		case p := <-t.pieces:
			n, err := t.f.Write(p.data)
			p.taken <- written{n, err}
		case <-t.closed:
			return
		}
	}
}

// read reads output. On some masters EIO means that no process has the other side
// open.
func (t *pty) read(p []byte) (int, error) {
	n, err := t.f.Read(p)
	if errors.Is(err, syscall.EIO) || errors.Is(err, os.ErrClosed) {
		return n, io.EOF
	}
	return n, err
}

// write passes p to the writer, and returns early after close.
func (t *pty) write(p []byte) (int, error) {
	over := &term.Error{Op: "write", Kind: term.RemoteClosed, Msg: "the program has ended"}
	taken := make(chan written, 1)
	select {
	case t.pieces <- piece{append([]byte(nil), p...), taken}:
	case <-t.closed:
		return 0, over
	}
	select {
	case w := <-taken:
		return w.n, w.err
	case <-t.closed:
		return 0, over
	}
}

// resize sets the size of the window.
func (t *pty) resize(cols, rows int) error { return ptypair.Resize(t.f, cols, rows) }

// foreground returns the foreground process group of the terminal, or 0.
func (t *pty) foreground() int {
	pgid, err := unix.IoctlGetInt(int(t.f.Fd()), unix.TIOCGPGRP)
	if err != nil {
		return 0
	}
	return pgid
}

// drain does nothing: the terminal is closed by the last of the programs.
func (t *pty) drain() {}

// close closes the terminal. The file itself is closed when a waiting read has
// returned, which happens when the programs are gone.
func (t *pty) close() error {
	t.hangUp.Do(func() {
		close(t.closed)
		go func() { _ = t.f.Close() }()
	})
	return nil
}
