package session

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ptyctl/term"
)

// isProtocolKey reports whether a key has no byte of its own: its protocol has a command for it.
func isProtocolKey(name string) bool { return slices.Contains(term.ProtocolKeys(), name) }

// pressProtocolKey has the transport press a key of its protocol. It is on record like any other.
func (s *Session) pressProtocolKey(ctx context.Context, name string, timeout time.Duration) (WriteResult, error) {
	const op = "write"
	res := WriteResult{Cursor: s.End()}
	t, err := s.alive(op)
	if err != nil {
		return res, err
	}
	sender, ok := t.(term.KeySender)
	if !ok {
		return res, &term.Error{Op: op, Session: s.id, Kind: term.Unsupported, Msg: fmt.Sprintf("this session's protocol has no key %s; to interrupt what runs press ctrl_c", name), Details: &term.Details{Field: "key"}}
	}
	ev := term.Event{Detail: name}
	epoch, err := s.permit(ctx, term.Action{Verb: term.VerbWrite}, ev)
	if err != nil {
		return res, err
	}
	setDefault(&timeout, s.o.WriteTimeout)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := s.stillHeld(op, lockHolder(term.ActorFrom(ctx)), epoch); err != nil {
		return res, err
	}
	s.setTyped()
	err = sender.SendKey(ctx, name)
	s.life.touch()
	if name == term.KeyBreak || name == term.KeyInterruptProcess {
		s.typedInto([]byte("\x03")) // it means the same to what runs
	}
	ev.Verb, ev.Actor, ev.Refused = term.VerbWrite, term.ActorFrom(ctx), err
	s.observe(ev)
	s.recordTx(TxEvent{Verb: term.VerbWrite, Task: ev.Actor.Task, Key: name})
	if err != nil {
		return res, s.transportError(op, err)
	}
	return res, nil
}
