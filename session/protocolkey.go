package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ptyctl/session/access"
	"ptyctl/term"
)

// pressProtocolKey has the transport press a key of its protocol. It is on record like any other.
func (out *writer) pressProtocolKey(
	ctx context.Context,
	name string,
	timeout time.Duration,
) (res WriteResult, err error) {
	s := out.s
	const op = "write"
	d := s.auth.Begin(ctx, term.VerbWrite, term.Event{Detail: name})
	defer func() { d.End(err) }()
	res.Cursor = s.End()
	if err := s.life.alive(op); err != nil {
		return res, err
	}
	sender, ok := s.link.Load().Transport.(term.KeySender)
	if !ok {
		return res, &term.Error{
			Op:      op,
			Session: s.id,
			Kind:    term.Unsupported,
			Msg:     fmt.Sprintf("this session's protocol has no key %s; to interrupt what runs press ctrl_c", name),
			Details: &term.Details{Part: term.FieldKey},
		}
	}
	epoch, err := d.Permit(ctx, term.Action{Key: name})
	if err != nil {
		return res, err
	}
	setDefault(&timeout, s.o.WriteTimeout)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := s.lock.StillHeld(op, access.HolderOf(term.ActorFrom(ctx)), epoch); err != nil {
		return res, err
	}
	line, end := s.lane.LastLine(), s.End()
	err = sender.SendKey(ctx, name)
	if !errors.Is(err, term.Unsupported) { // then nothing went out, and the terminal is what it was
		s.prompts.Touch(line, end, false)
		s.input.record(TxEvent{Verb: term.VerbWrite, Task: access.HolderOf(term.ActorFrom(ctx)).String(), Key: name})
		s.timeouts.touch()
		if name == term.KeyBreak || name == term.KeyInterruptProcess {
			s.lane.Input([]byte("\x03")) // it means the same to what runs
		}
	}
	if err != nil {
		return res, s.life.transportError(op, err)
	}
	return res, nil
}
