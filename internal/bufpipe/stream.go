package bufpipe

import (
	"bytes"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// stream is one direction of a pair: the bytes between the writer and the reader.
type stream struct {
	limit int // most bytes buffered; 0: no limit

	// mu guards the following. changed must be signaled after every change that may end a
	// wait.
	mu           sync.Mutex
	changed      sync.Cond
	buf          bytes.Buffer
	writerDone   bool // the writer has ended: io.EOF follows the last byte
	readerDone   bool // the reader has ended: the writer gets io.ErrClosedPipe
	readExpired  deadline
	writeExpired deadline
}

// deadline is the state of one SetReadDeadline or SetWriteDeadline. The mutex of its
// stream guards it.
type deadline struct {
	timer  *time.Timer
	passed bool
}

// newStream returns an empty stream; limit 0 means no limit.
func newStream(limit int) *stream {
	s := &stream{limit: limit}
	s.changed.L = &s.mu
	return s
}

// read waits for at least one byte. With an empty p it does not wait, but reports a
// closed end or a passed deadline.
func (s *stream) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.readerDone:
			return 0, net.ErrClosed
		case s.readExpired.passed:
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		case s.buf.Len() > 0:
			n, err := s.buf.Read(p)
			s.changed.Broadcast()
			return n, err
		case s.writerDone:
			return 0, io.EOF
		}
		s.changed.Wait()
	}
}

// write waits for room until all of p is buffered.
func (s *stream) write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var n int
	for {
		switch {
		case s.writerDone:
			return n, net.ErrClosed
		case s.readerDone:
			return n, io.ErrClosedPipe
		case s.writeExpired.passed:
			return n, os.ErrDeadlineExceeded
		}
		if take := s.room(len(p) - n); take > 0 || n == len(p) {
			s.buf.Write(p[n : n+take])
			n += take
			s.changed.Broadcast()
			if n == len(p) {
				return n, nil
			}
		}
		s.changed.Wait()
	}
}

// room returns how many of want bytes fit now. The caller must hold s.mu.
func (s *stream) room(want int) int {
	if s.limit <= 0 {
		return want
	}
	return min(want, max(s.limit-s.buf.Len(), 0))
}

// closeWrite ends the stream after the buffered bytes.
func (s *stream) closeWrite() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writerDone = true
	s.writeExpired.stop()
	s.changed.Broadcast()
}

// closeRead discards the buffered bytes and refuses further ones.
func (s *stream) closeRead() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readerDone = true
	s.buf = bytes.Buffer{}
	s.readExpired.stop()
	s.changed.Broadcast()
}

// setDeadline moves d, one of the two deadlines of s, to t. The zero t removes it.
func (s *stream) setDeadline(d *deadline, t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.stop()
	if t.IsZero() {
		return
	}
	left := time.Until(t)
	if left <= 0 {
		d.passed = true
		s.changed.Broadcast()
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(left, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		// A timer that fired while it was being replaced must have no effect.
		if d.timer == timer {
			d.passed = true
			s.changed.Broadcast()
		}
	})
	d.timer = timer
}

// stop removes the deadline. The caller must hold the mutex of its stream.
func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
	*d = deadline{}
}
