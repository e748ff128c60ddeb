// Package tap diverts a stream of bytes to a reader for a while, between the goroutine that reads the stream and its
// usual receiver:
//
//	t := tap.New(accept)
//	t.Write(p)             // the pump: p goes to accept
//	err := t.Open()        // from now on it goes to Read
//	n, err := t.Read(ctx, buf, time.Second)
//	t.Close()              // the unread bytes go to accept, and then all that follow
//
// No byte is lost or passes another one. Write never waits for a reader: it keeps the first bytes that were not read yet,
// and drops others.
package tap

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// most is how many bytes wait for the reader. Protocols with answers to blocks have a block on the way.
const most = 64 << 10

// ErrOpen says that another reader has the stream.
var ErrOpen = errors.New("another reader has the stream")

// A Tap diverts a stream. Make it with New.
type Tap struct {
	accept func(p []byte) // takes the stream; called with mu held while the tap is open, and else by Write alone
	open   atomic.Bool
	more   chan struct{} // buffered: something has changed for the reader

	mu    sync.Mutex // guards the following
	held  []byte     // not read yet
	ended bool       // the stream is
}

// New makes a closed Tap. accept takes the bytes of the stream while it is closed, and may change them.
func New(accept func(p []byte)) *Tap { return &Tap{accept: accept, more: make(chan struct{}, 1)} }

// Write takes the next bytes of the stream. It has one caller at a time.
func (t *Tap) Write(p []byte) {
	if !t.open.Load() || !t.keep(p) {
		t.accept(p)
	}
}

// keep holds p for the reader, and wipes it. It reports false if the reader is gone.
func (t *Tap) keep(p []byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.open.Load() {
		return false
	}
	t.held = append(t.held, p[:min(len(p), most-len(t.held))]...)
	clear(p)
	t.wake()
	return true
}

func (t *Tap) wake() {
	select {
	case t.more <- struct{}{}:
	default:
	}
}

// End marks the end of the stream: the unread bytes go to accept. Call it after the last Write.
func (t *Tap) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.closeLocked()
	t.wake()
}

// Open gives the stream to a reader.
func (t *Tap) Open() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.ended:
		return io.EOF
	case t.open.Load():
		return ErrOpen
	}
	select {
	case <-t.more: // of an earlier reader
	default:
	}
	t.open.Store(true)
	return nil
}

// Read waits for bytes until some are there, at most for wait, and returns 0 if none came. The error is io.EOF at the
// end of the stream, or that of the context.
func (t *Tap) Read(ctx context.Context, p []byte, wait time.Duration) (int, error) {
	var over <-chan time.Time
	for {
		if err := ctx.Err(); err != nil {
			return 0, context.Cause(ctx)
		}
		if n, err := t.take(p); n > 0 || err != nil {
			return n, err
		}
		if wait <= 0 {
			return 0, nil
		}
		if over == nil {
			timer := time.NewTimer(wait)
			defer timer.Stop()
			over = timer.C
		}
		select {
		case <-t.more:
		case <-over:
			return t.take(p)
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

func (t *Tap) take(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := copy(p, t.held)
	t.held = t.held[:copy(t.held, t.held[n:])]
	if n == 0 && t.ended {
		return 0, io.EOF
	}
	return n, nil
}

// Pass gives bytes to accept, in their place before all that were not read yet. Only the reader calls it.
func (t *Tap) Pass(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open.Load() {
		t.accept(p)
	}
}

// Close ends the reader's part: the unread bytes go to accept.
func (t *Tap) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closeLocked()
}

func (t *Tap) closeLocked() {
	if !t.open.Load() {
		return
	}
	if len(t.held) > 0 {
		t.accept(t.held)
	}
	t.held = nil
	t.open.Store(false)
}
