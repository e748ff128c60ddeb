package session

import (
	"bytes"
	"context"
	"time"

	"ptyctl/session/keys"
	"ptyctl/term"
)

// interruptGrace is how long a command in the terminal may take to obey ctrl_c, and again ctrl_backslash.
const interruptGrace = 1 * time.Second

// stop ends a command whose time is over, as a person would: ctrl_c, then ctrl_backslash. Once others have typed, or
// the lock has changed hands, what runs in the terminal may be theirs, and no key is pressed.
func (t *typedRun) stop() term.Exit {
	t.x.how = DonePrompt
	for _, key := range []string{"\x03", "\x1c"} {
		if !t.mayPress(key, "to stop "+t.x.id) {
			break
		}
		t.s.press(holderOf(t.actor), key, func() {})
		if e, ok := t.settled(t.s.ctx, interruptGrace); ok {
			e.Killed = "yes"
			return e
		}
	}
	return term.Exit{Killed: "unknown"}
}

// mayPress decides whether a key may still be pressed for the command, and has it on record, with the reason.
func (t *typedRun) mayPress(key, why string) bool {
	s := t.s
	if s.prompts.Touches() != t.touches || s.locks.CheckEpoch(s.id, holderOf(t.actor), t.epoch) != nil {
		return false
	}
	e := term.Event{Verb: term.VerbWrite, Actor: t.actor, Data: []byte(key), Size: len(key), Detail: why}
	if s.o.Journal != nil && s.o.Journal(s.desk.stamp(e)) != nil {
		return false
	}
	s.observe(e)
	s.recordTx(
		TxEvent{
			Verb:   term.VerbWrite,
			Task:   holderOf(t.actor).String(),
			Bytes:  len(key),
			Key:    keys.Name([]byte(key)),
			Reason: why,
		},
	)
	return true
}

// settled waits, at most limit, until the marker or the prompt shows that the command is gone: a shell that is
// interrupted gives up the whole line, and with it the marker.
func (t *typedRun) settled(ctx context.Context, limit time.Duration) (e term.Exit, ok bool) {
	t.holding = true
	t.emit(t.cut.stop())
	defer func() { t.letGo(ok && !e.Known) }()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	still := time.NewTimer(quietStop)
	defer still.Stop()
	for {
		changed := t.s.buf.Changed()
		if t.advance() {
			still.Reset(quietStop)
		}
		if t.ended() {
			return t.marked(), true
		}
		select {
		case <-changed:
		case <-still.C:
			if t.atPrompt(t.s.lastLine()) {
				t.x.how = DonePrompt
				return term.Exit{}, true
			}
		case <-timer.C:
			return term.Exit{}, false
		case <-ctx.Done():
			return term.Exit{}, false
		}
	}
}

// press sends a key for by past everything that waits to be written, and then calls done.
func (s *Session) press(by Holder, key string, done func()) {
	s.prompts.Pressed()
	s.mu.Lock()
	tr := s.transport
	s.mu.Unlock()
	if !s.spawn("exec", func() {
		defer done()
		n, _ := tr.Write([]byte(key))
		s.countTyped(by, n)
	}) {
		done()
	}
}

// typedInto tells the command in the terminal that somebody has typed: what it waited for may be answered.
func (s *Session) typedInto(p []byte) {
	s.mu.Lock()
	x := s.typing
	if x != nil && !x.sent { // p is its own line, or came before it
		x = nil
	}
	s.mu.Unlock()
	if x == nil || len(p) == 0 {
		return
	}
	x.setWaiting(nil)
	token := x.answered
	if bytes.ContainsAny(p, "\x03\x1c") {
		token = x.interrupted
	}
	select {
	case token <- struct{}{}:
	default: // one is there already
	}
}
