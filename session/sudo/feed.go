package sudo

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"ptyctl/internal/locked"
)

// patience is how long sudo may take to ask or to begin. After that the password never goes out, and the command's
// input ends: a command that sudo runs without a password may be waiting for that end.
const patience = 15 * time.Second

// The reasons for which there is no outcome of the command.
var (
	ErrRefused = errors.New("sudo has not taken the password")
	ErrLines   = errors.New("the secret's value has a line end, so no program would read it whole")
	ErrLate    = errors.New("sudo has asked for the password too late, so it was not sent")
)

// state is how far sudo has come.
type state struct {
	asked, started chan struct{} // closed at the first question, and when the command has begun
	again          chan struct{} // closed at the second question: the password was wrong

	mu    sync.Mutex // guards the following
	asks  int        // questions
	begun bool
	sent  bool  // the password went out
	late  bool  // it will not go out any more
	err   error // why it did not
}

func newState() state {
	return state{asked: make(chan struct{}), started: make(chan struct{}), again: make(chan struct{})}
}

// ask notes that sudo asks.
func (s *state) ask() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun {
		return
	}
	switch s.asks++; s.asks {
	case 1:
		close(s.asked)
	case 2:
		close(s.again)
	}
}

// begin notes that the command has begun.
func (s *state) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun {
		s.begun = true
		close(s.started)
	}
}

// Withhold notes that the password does not go out, and why; nil: nothing has asked for it.
func (s *state) Withhold(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = true
	if s.err == nil {
		s.err = err
	}
}

// Deliver notes that the password goes out.
func (s *state) Deliver() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = true
}

// Asked returns a channel that is closed when sudo has asked.
func (s *state) Asked() <-chan struct{} { return s.asked }

// AskedAgain returns a channel that is closed when sudo has asked a second time: the password was wrong.
func (s *state) AskedAgain() <-chan struct{} { return s.again }

// Begun reports whether the command is known to have begun.
func (s *state) Begun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun
}

// questions returns how often sudo has asked.
func (s *state) questions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asks
}

// Err returns why the command has not run, as far as sudo's questions show it: the error of fetch, ErrRefused or ErrLate.
func (s *state) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
		return s.err
	case s.begun:
		return nil
	case s.sent && s.asks > 1:
		return ErrRefused
	case s.late && s.asks > 0:
		return ErrLate
	}
	return nil
}

// Feed returns the standard input of the line: the password when sudo asks for it, and then stdin. fetch returns the
// password, which is wiped. Its Read ends with ctx.
func (c *Command) Feed(ctx context.Context, stdin []byte, fetch func(context.Context) ([]byte, error)) io.ReadCloser {
	f := &feed{c: c, fetch: fetch, stdin: stdin}
	f.ctx, f.cancel = context.WithCancel(ctx)
	return f
}

// A feed is read by one goroutine.
type feed struct {
	ctx    context.Context
	cancel context.CancelFunc
	c      *Command
	fetch  func(context.Context) ([]byte, error)

	ahead   bool // the password is there, and stdin follows it
	settled bool // the password went out, or will not
	over    bool // the command has begun, or the input ends

	mu     sync.Mutex // guards the following
	stdin  []byte
	ready  []byte // to be read next
	closed bool
}

// Read implements io.Reader.
func (f *feed) Read(p []byte) (int, error) {
	for {
		if n := f.take(p); n > 0 {
			return n, nil
		}
		switch {
		case !f.settled:
			f.settled = true
			f.password()
		case !f.over:
			f.over = true
			if f.ahead || f.follows() {
				f.mu.Lock()
				f.ready = f.stdin
				f.mu.Unlock()
			}
		default:
			return 0, io.EOF
		}
	}
}

// take returns how many bytes were ready, and wipes them.
func (f *feed) take(p []byte) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := copy(p, f.ready)
	clear(f.ready[:n])
	f.ready = f.ready[n:]
	return n
}

// put makes a line of the value ready, and wipes value.
func (f *feed) put(value []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.ready = append(append(locked.Bytes(len(value) + 1)[:0], value...), '\n')
	}
	clear(value)
}

// Close implements io.Closer. It wipes the unread bytes.
func (f *feed) Close() error {
	f.cancel()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	clear(f.ready)
	f.ready, f.stdin = nil, nil
	return nil
}

// password waits for sudo's question, and makes the password ready.
func (f *feed) password() {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-f.c.asked:
	case <-f.c.started:
		return
	case <-timer.C:
		f.c.Withhold(nil)
		f.over = true
		return
	case <-f.ctx.Done():
		f.over = true
		return
	}
	value, err := f.fetch(f.ctx)
	if err != nil {
		f.c.Withhold(err)
		f.over = true
		return
	}
	if !oneLine(value) {
		clear(value)
		f.c.Withhold(ErrLines)
		f.over = true
		return
	}
	f.put(value)
	f.c.Deliver()
}

// follows waits until the command has begun, and reports whether its own input follows. If the begin of the command
// cannot be seen, no own input follows, and the input's end keeps sudo from reading a second password.
func (f *feed) follows() bool {
	if f.c.began == "" {
		return false
	}
	select {
	case <-f.c.started:
		return true
	case <-f.c.again:
	case <-f.ctx.Done():
	}
	return false
}

// oneLine reports whether a program reads the value as one line, whole.
func oneLine(value []byte) bool { return !bytes.ContainsAny(value, "\r\n\x00") }

// Ahead returns a standard input that begins with a line of the value. It wipes the value.
func Ahead(value, stdin []byte) (io.ReadCloser, error) {
	if !oneLine(value) {
		clear(value)
		return nil, ErrLines
	}
	f := &feed{cancel: func() {}, stdin: stdin, settled: true, ahead: true}
	f.put(value)
	return f, nil
}
