package r2

import (
	"io"
	"sync"
)

// A feed is the standard input of a program, line by line. Its reader is the program's, and there is one line at a time.
type feed struct {
	lines  chan []byte
	closed chan struct{}
	once   sync.Once
	rest   []byte // of the line that is being read; the reader's
}

func newFeed() *feed { return &feed{lines: make(chan []byte, 1), closed: make(chan struct{})} }

// send adds a line. It fails if the program has ended, or has not read the line before.
func (f *feed) send(line []byte) error {
	select {
	case <-f.closed:
		return io.ErrClosedPipe
	default:
	}
	select {
	case f.lines <- append([]byte(nil), line...):
		return nil
	default:
		return io.ErrShortWrite
	}
}

// Read implements io.Reader.
func (f *feed) Read(p []byte) (int, error) {
	if len(f.rest) == 0 {
		select {
		case f.rest = <-f.lines:
		case <-f.closed:
			return 0, io.EOF
		}
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// Close ends the input. A Read that waits returns.
func (f *feed) Close() error {
	f.once.Do(func() { close(f.closed) })
	return nil
}
