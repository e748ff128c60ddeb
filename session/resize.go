package session

import (
	"context"
	"fmt"

	"ptyctl/term"
)

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
