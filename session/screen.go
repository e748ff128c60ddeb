package session

import (
	"context"
	"fmt"
	"sync"

	"ptyctl/term"
	"ptyctl/vt"
)

// A screen is the window at the near end: its size, and the modes that the output has switched on.
type screen struct {
	mu      sync.Mutex // guards the following
	tracker vt.Tracker
	pty     term.PTY
	resized int64 // the cursor from which on pty's size counts; 0: from the start
}

// track follows the modes that the output switches.
func (w *screen) track(p []byte) {
	w.mu.Lock()
	defer w.mu.Unlock() // also if a fault there should end the session
	_, _ = w.tracker.Write(p)
}

// modes returns the modes that the output has switched on.
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

// maxCells bounds a window's width and height: more is a mistake, and some devices crash on it.
const maxCells = 10000

// Resize tells the far side the window's new size in character cells.
func (s *Session) Resize(ctx context.Context, cols, rows int) (err error) {
	const op = "resize"
	d := s.auth.Begin(ctx, term.VerbResize, term.Event{Detail: fmt.Sprintf("%dx%d", cols, rows)})
	defer func() { d.End(err) }()
	if err := s.life.alive(op); err != nil {
		return err
	}
	if cols < 1 || rows < 1 || cols > maxCells || rows > maxCells {
		return &term.Error{
			Op:      op,
			Session: s.id,
			Kind:    term.InvalidArgument,
			Msg:     fmt.Sprintf("cols and rows must be between 1 and %d; got %d x %d", maxCells, cols, rows),
		}
	}
	if _, err := d.Permit(ctx, term.Action{}); err != nil {
		return err
	}
	at := s.End() // what comes from here on may be drawn for it
	if err := s.link.Load().Resize(cols, rows); err != nil {
		return s.life.transportError(op, err)
	}
	s.screen.resize(cols, rows, at)
	return nil
}

// Signal delivers a signal by name (RFC 4254 section 6.10) to the program at the far end.
func (s *Session) Signal(ctx context.Context, name string) (err error) {
	const op = "signal"
	d := s.auth.Begin(ctx, term.VerbSignal, term.Event{Detail: name})
	defer func() { d.End(err) }()
	if err := s.life.alive(op); err != nil {
		return err
	}
	signaler := s.link.Load().signaler
	if signaler == nil {
		return &term.Error{
			Op:      op,
			Session: s.id,
			Kind:    term.Unsupported,
			Msg:     "this session's protocol delivers no signals; type the key instead (ctrl_c, ctrl_backslash, ctrl_z)",
		}
	}
	if _, err := d.Permit(ctx, term.Action{}); err != nil {
		return err
	}
	if err := signaler.Signal(ctx, name); err != nil {
		return s.life.transportError(op, err)
	}
	return nil
}
