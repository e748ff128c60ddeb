package session

import (
	"context"
	"fmt"

	"ptyctl/term"
)

// maxCells bounds a window's width and height: more is a mistake, and some devices crash on it.
const maxCells = 10000

// Resize tells the far side the window's new size in character cells.
func (s *Session) Resize(ctx context.Context, cols, rows int) error {
	const op = "resize"
	t, err := s.alive(op)
	if err != nil {
		return err
	}
	if cols < 1 || rows < 1 || cols > maxCells || rows > maxCells {
		return &term.Error{Op: op, Session: s.id, Kind: term.InvalidArgument, Msg: fmt.Sprintf("cols and rows must be between 1 and %d; got %d x %d", maxCells, cols, rows)}
	}
	detail := fmt.Sprintf("%dx%d", cols, rows)
	if _, err := s.permit(ctx, term.Action{Verb: term.VerbResize}, term.Event{Detail: detail}); err != nil {
		return err
	}
	if err := t.Resize(cols, rows); err != nil {
		return s.transportError(op, err)
	}
	s.mu.Lock()
	s.pty.Cols, s.pty.Rows = cols, rows
	s.mu.Unlock()
	s.observe(term.Event{Verb: term.VerbResize, Actor: term.ActorFrom(ctx), Detail: detail})
	return nil
}

// Signal delivers a signal by name (RFC 4254 section 6.10) to the program at the far end.
func (s *Session) Signal(ctx context.Context, name string) error {
	const op = "signal"
	if _, err := s.alive(op); err != nil {
		return err
	}
	if s.signaler == nil {
		return &term.Error{Op: op, Session: s.id, Kind: term.Unsupported, Msg: "this session's protocol delivers no signals; type the key instead (ctrl_c, ctrl_backslash, ctrl_z)"}
	}
	if _, err := s.permit(ctx, term.Action{Verb: term.VerbSignal}, term.Event{Detail: name}); err != nil {
		return err
	}
	if err := s.signaler.Signal(ctx, name); err != nil {
		return s.transportError(op, err)
	}
	s.observe(term.Event{Verb: term.VerbSignal, Actor: term.ActorFrom(ctx), Detail: name})
	return nil
}
