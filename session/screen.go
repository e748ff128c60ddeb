package session

import (
	"sync"

	"ptyctl/term"
	"ptyctl/vt"
)

// A screen is the window at the near end: its size, and what the output has switched on.
type screen struct {
	mu      sync.Mutex // guards the following
	tracker vt.Tracker
	pty     term.PTY
	resized int64 // the cursor from which on pty's size counts; 0: from the start
}

// track follows what the output switches on.
func (w *screen) track(p []byte) {
	w.mu.Lock()
	defer w.mu.Unlock() // also if a fault there should end the session
	_, _ = w.tracker.Write(p)
}

// modes returns what the output has switched on.
func (w *screen) modes() vt.Modes {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tracker.Modes()
}

// cols returns the window's width.
func (w *screen) cols() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pty.Cols
}

// size returns the window, and the cursor from which on its size counts.
func (w *screen) size() (pty term.PTY, since int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pty, w.resized
}

// resize remembers the window's new size, which counts from the cursor at on.
func (w *screen) resize(cols, rows int, at int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pty.Cols, w.pty.Rows, w.resized = cols, rows, at
}
