package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"ptyctl/term"
)

// writePiece is how much goes to the transport at a time. It bounds what may be in doubt when a write is stuck.
const writePiece = 4 << 10

// WriteOptions say how to treat what is written.
type WriteOptions struct {
	Sensitive bool          // keep the content out of events, and so out of every log and recording
	Key       string        // the key this stands for, for the record
	Timeout   time.Duration // 0: the session's WriteTimeout
}

// A WriteResult says what became of a write. Being stuck is a value, not an error.
type WriteResult struct {
	Cursor   int64 // end of the output before the write: reading from here misses nothing of the answer
	Written  int   // bytes the transport has taken
	Pending  int   // bytes handed to the transport that it had not taken at the deadline; they may still go out
	TimedOut bool
	Answered bool // the data answered the login's question instead of being typed
}

// Write types data into the terminal, or answers the question the login waits with.
// Writes are serial: one that waits for another gives up at its deadline with nothing written.
func (s *Session) Write(ctx context.Context, data []byte, o WriteOptions) (WriteResult, error) {
	const op = "write"
	res := WriteResult{Cursor: s.End()}
	if answered, err := s.answer(ctx, data); answered {
		if err == nil {
			res.Written, res.Answered = len(data), true
		}
		return res, err
	}
	t, err := s.alive(op)
	if err != nil {
		return res, err
	}
	ev := term.Event{Data: data, Size: len(data), Sensitive: o.Sensitive, Detail: o.Key}
	act := term.Action{Verb: term.VerbWrite, Data: data}
	if o.Sensitive {
		ev.Data, act.Data = nil, nil
	}
	epoch, err := s.permit(ctx, act, ev)
	if err != nil {
		return res, err
	}
	setDefault(&o.Timeout, s.o.WriteTimeout)
	deadline := time.NewTimer(o.Timeout)
	defer deadline.Stop()

	select {
	case s.writing <- struct{}{}:
	case <-deadline.C:
		res.TimedOut = true
		return res, nil
	case <-ctx.Done():
		return res, &term.Error{Op: op, Session: s.id, Kind: term.Canceled, Msg: "canceled before anything was written", Err: ctx.Err()}
	case <-s.ctx.Done():
		return res, s.endedError(op)
	}
	w := &write{s: s, t: t, data: data, task: lockHolder(term.ActorFrom(ctx)), epoch: epoch, sent: make(chan int, 1), done: make(chan error, 1)}
	if !s.spawn(op, w.run) {
		<-s.writing
		return res, s.endedError(op)
	}
	for {
		select {
		case n := <-w.sent:
			res.Written = n
			continue
		case err = <-w.done:
			select { // the last count may still be on its way
			case res.Written = <-w.sent:
			default:
			}
		case <-deadline.C:
			res.TimedOut = true
			w.stop.Store(true)
		case <-ctx.Done():
			w.stop.Store(true)
			err = &term.Error{Op: op, Session: s.id, Kind: term.Canceled, Msg: fmt.Sprintf("canceled after %d of %d bytes", res.Written, len(data)), Err: ctx.Err()}
		case <-s.ctx.Done():
			err = s.endedError(op)
		}
		break
	}
	if res.TimedOut {
		res.Pending = min(writePiece, len(data)-res.Written)
	}
	ev.Verb, ev.Actor, ev.Size = term.VerbWrite, term.ActorFrom(ctx), res.Written
	if ev.Data != nil {
		ev.Data = data[:res.Written]
	}
	s.observe(ev)
	return res, err
}

// endedError says that the session ended while something was under way.
func (s *Session) endedError(op string) error {
	<-s.ended
	s.mu.Lock()
	defer s.mu.Unlock()
	if by := (errClosedByCaller{}); errors.As(context.Cause(s.ctx), &by) {
		return s.aliveLocked(op)
	}
	return &term.Error{
		Op: op, Session: s.id, Kind: term.RemoteClosed, Err: s.end.Err,
		Msg:     "the session ended meanwhile (" + s.end.Reason + "); its output can still be read",
		Details: &term.Details{EndReason: s.end.Reason},
	}
}

// writeFailed classifies an error of the transport.
func (s *Session) writeFailed(err error) error {
	var e *term.Error
	if errors.As(err, &e) {
		return err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) {
		return &term.Error{Op: "write", Session: s.id, Kind: term.RemoteClosed, Msg: "the far side takes no more input; read the rest of its output, then open a new session", Err: err}
	}
	return &term.Error{Op: "write", Session: s.id, Kind: term.IOError, Err: err}
}
