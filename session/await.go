package session

import (
	"context"
	"time"

	"ptyctl/buffer"
	"ptyctl/session/output"
	"ptyctl/term"
)

// Waits of a caller that waits in several places at once; package await joins them. Output that has not
// ended such a wait stays to be read.

// Await is Session.Read for a caller that waits in several places, one of which may be enough. met is false if r's time
// was over, ctx ended or too many reads wait (ReasonLimit): no output is returned then, and nothing counts as read.
//
// While the session logs in, a question ends the wait too (ReasonAsked): the caller may be who has to answer it.
func Await(ctx context.Context, s *Session, r ReadRequest) (c Chunk, met bool) {
	began := time.Now()
	in := sourceOf(s)
	in.asks = s.life.asks
	if r.End {
		in.over = s.life.over
	}
	c = in.read(ctx, r)
	if !c.Reason.Met() {
		return Chunk{Reason: c.Reason}, false
	}
	had(ctx, s, c, began)
	return c, true
}

// Met reports whether a read has stopped because its condition was met, or at the end: more time would not help.
func (r Reason) Met() bool {
	return r != ReasonTimeout && r != ReasonCanceled && r != ReasonLimit
}

// AwaitExec waits until a command has ended or, if asks, seems to wait for an answer. met is false if ctx ends first.
// Nothing counts as delivered: Session.ContinueExec has the result.
func AwaitExec(ctx context.Context, s *Session, id string, asks bool) (met bool, err error) {
	x, err := s.execs.find("exec", id)
	if err != nil {
		return false, err
	}
	defer s.execs.letGo(x)
	x.deadline.attend()
	defer x.deadline.leave(false)
	reads := s.o.managed.limits.reads
	entered := false
	defer func() {
		if entered {
			reads.leave()
		}
	}()
	for {
		question, turned := x.waitsOn()
		if x.ended() || asks && question != nil && x.ctx.Err() == nil {
			return true, nil
		}
		if ctx.Err() != nil {
			return false, nil
		}
		// As for a read: only a wait takes a place.
		if !entered {
			if entered = reads.enter(); !entered {
				return false, s.TooManyReads()
			}
		}
		select {
		case <-turned:
		case <-x.done:
		case <-ctx.Done():
		}
	}
}

// Delivered returns how much of a command's stdout the caller's results have had, as an offset.
func Delivered(ctx context.Context, s *Session, id string) (int64, error) {
	x, err := s.execs.find("exec", id)
	if err != nil {
		return 0, err
	}
	defer s.execs.letGo(x)
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.given[term.ActorFrom(ctx).Principal()].stdout, nil
}

// ended reports whether a stream that is closed is the end that the read waits for.
func (w *waiter) ended() bool {
	if w.over == nil {
		return true
	}
	select {
	case <-w.over:
		return true
	default:
		return false
	}
}

// last is extract for the last most bytes before end; 0: all of them.
func last(b *buffer.Buffer, from, end, next int64, most int, reason Reason) Chunk {
	begin := from
	if most > 0 {
		begin = max(from, end-int64(most))
	}
	c := extract(b, begin, end, next, reason)
	if begin > from {
		data := output.DropRuneRest(c.Data)
		c.Start += int64(len(c.Data) - len(data))
		c.Data = data
	}
	c.Dropped = max(0, min(b.Stat().Start, c.Start)-from)
	c.Skipped = c.Start - from - c.Dropped
	return c
}
