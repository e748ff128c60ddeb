package stdio

import (
	"context"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/internal/mcpgo"
)

// pending is a request in flight.
type pending struct {
	msg    rpcMessage
	cancel context.CancelCauseFunc
	leave  func() // gives its part of Options.Room back
	silent bool   // guarded by loop.mu: it gets no answer, or has it already
}

// begin counts a line as being dispatched, unless the loop is stopped.
func (l *loop) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return false
	}
	l.active++
	return true
}

func (l *loop) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active--
	l.closeIfIdle()
}

// closeIfIdle requires l.mu.
func (l *loop) closeIfIdle() {
	if l.stopped && l.active == 0 {
		close(l.idle)
	}
}

// admit makes c a request in flight, or says why not. The limit does not hold for inline requests: there is only
// one of them at a time.
func (l *loop) admit(c *pending, inline bool) *mcp.JSONRPCError {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inFlight[c.msg.key] != nil {
		e := mcpgo.Error(
			mcp.INVALID_REQUEST,
			"a request with this id is still in flight; use a new id for each request",
		)
		return &e
	}
	if !inline && len(l.inFlight) >= l.opts.MaxInFlight {
		e := mcpgo.Error(codeTooManyRequests, fmt.Sprintf(
			"%d requests are in flight, which is the limit; wait for an answer or cancel one, then send this again",
			l.opts.MaxInFlight))
		return &e
	}
	c.leave = func() {}
	if !inline {
		leave, ok := l.opts.Room.Take(int64(len(c.msg.raw)))
		if !ok {
			e := mcpgo.Error(codeTooManyRequests, l.opts.Room.Full())
			return &e
		}
		c.leave = leave
	}
	l.inFlight[c.msg.key] = c
	l.active++
	return nil
}

// claim reports whether c is still to be answered. From here on the answer is the caller's to write.
func (l *loop) claim(c *pending) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	open := !c.silent
	c.silent = true
	// The id is free before the client can see the answer and use it again.
	delete(l.inFlight, c.msg.key)
	return open
}

// finish releases c; its answer, if any, is already written.
func (l *loop) finish(c *pending) {
	c.cancel(nil)
	c.leave()
	l.end()
}

// stop lets no further line be dispatched. A subscriptions/listen is ended: it would never finish on its own.
func (l *loop) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	for _, c := range l.inFlight {
		if *c.msg.Method == string(mcp.MethodSubscriptionsListen) {
			c.cancel(l.opts.ended(errInputEnded))
		}
	}
	l.closeIfIdle()
}

// waitIdle waits for the requests in flight until d has passed or one of the channels is ready, and reports whether
// all have ended.
func (l *loop) waitIdle(d time.Duration, done <-chan struct{}, broken <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-l.idle:
		return true
	case <-t.C:
	case <-done:
	case <-broken:
	}
	select {
	case <-l.idle:
		return true
	default:
		return false
	}
}

// endWorkers ends the goroutines of requests, and waits for them unless a request was given up that ignores its
// cancellation.
func (l *loop) endWorkers() {
	l.workers.End()
	select {
	case <-l.idle:
		l.workers.Wait()
	default:
	}
}

// abandon gives up on the requests that ignore their cancellation and returns the answers for them.
func (l *loop) abandon() [][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	var answers [][]byte
	for _, c := range l.inFlight {
		l.opts.Logger.Warn("a request ignored its cancellation and was abandoned", "method", *c.msg.Method)
		var answer []byte
		if !c.silent {
			c.silent = true
			answer = l.encode(c.msg.ID, mcpgo.Error(mcp.INTERNAL_ERROR,
				"the server shut down before this request ended; whether it took effect is unknown"))
		}
		if c.msg.batch != nil {
			answer = c.msg.batch.Settle(answer)
		}
		if answer != nil {
			answers = append(answers, answer)
		}
	}
	return answers
}
