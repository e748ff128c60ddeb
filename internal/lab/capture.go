package lab

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"
)

// Patience is how long a test waits for something that must come. It bounds a hang; it measures nothing.
const Patience = time.Minute

// A Capture keeps a process's output, and wakes the goroutines that wait for a part of it.
type Capture struct {
	mu      sync.Mutex // guards the following
	buf     bytes.Buffer
	changed chan struct{} // closed at the next write
}

// NewCapture returns an empty capture.
func NewCapture() *Capture { return &Capture{changed: make(chan struct{})} }

// Write implements io.Writer.
func (c *Capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.changed)
	c.changed = make(chan struct{})
	return c.buf.Write(p)
}

// String is all that was written so far.
func (c *Capture) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.buf.String()
}

// WaitFor returns true once text was written, and false when end is closed before that.
func (c *Capture) WaitFor(text string, end <-chan struct{}) bool {
	for {
		c.mu.Lock()
		found, changed := bytes.Contains(c.buf.Bytes(), []byte(text)), c.changed
		c.mu.Unlock()
		if found {
			return true
		}
		select {
		case <-changed:
		case <-end:
			return strings.Contains(c.String(), text)
		}
	}
}

// Wait waits for text in the output of the process: an answer can come before its log does. It fails the test if the
// text does not come.
func (c *Capture) Wait(tb testing.TB, text string) {
	tb.Helper()
	late := make(chan struct{})
	defer time.AfterFunc(Patience, func() { close(late) }).Stop()
	if !c.WaitFor(text, late) {
		tb.Errorf("after %v the log has no %q:\n%s", Patience, text, Tail(c.String(), 4<<10))
	}
}

// Eventually waits for a change that the kernel or another process makes in its own time without a notification.
func Eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	for end := time.Now().Add(Patience); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("%s: not after %v", what, Patience)
		}
	}
}

// InTime calls try with a time that a program keeps by the clock, and as long as that returns false, with twice the time:
// a machine with much to do may be too slow for the first ones. With a fault it fails for each, and the test with it.
func InTime(tb testing.TB, what string, first time.Duration, try func(d time.Duration) bool) {
	tb.Helper()
	for d := first; !try(d); d *= 2 {
		if d > Patience/8 {
			tb.Fatalf("%s: not in %v, either", what, d)
		}
	}
}
