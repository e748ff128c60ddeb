package telnet

import (
	"context"
	"errors"

	"ptyctl/term"
)

// timingMark handles a command of TIMING-MARK (RFC 860).
func (e *engine) timingMark(verb byte) {
	switch verb {
	case cmdDO: // input is processed in order, so the mark is already reached
		if e.mayAnswer() {
			e.send(cmdIAC, cmdWILL, byte(TimingMark))
		}
	case cmdWILL, cmdWONT: // both mean that the server has processed all earlier bytes
		e.probes = answered(e.probes, true)
	}
}

// logout handles a command of LOGOUT (RFC 727). A server may end the login without asking.
func (e *engine) logout(verb byte) {
	switch {
	case (verb == cmdWILL || verb == cmdWONT) && len(e.logouts) > 0:
		e.logouts = answered(e.logouts, verb == cmdWILL)
	case verb == cmdWILL && e.mayAnswer():
		e.send(cmdIAC, cmdDONT, byte(Logout))
	case verb == cmdDO && e.mayAnswer():
		e.send(cmdIAC, cmdWONT, byte(Logout))
	}
}

// handleStatus handles the peer's list of agreed options (RFC 859).
func (e *engine) handleStatus(data []byte) {
	e.status = answered(e.status, append([]byte(nil), data...))
}

// answered passes an answer to the first waiting caller. Each channel has room for one.
func answered[T any](waiting []chan<- T, answer T) []chan<- T {
	if len(waiting) == 0 {
		return nil
	}
	waiting[0] <- answer
	return waiting[1:]
}

// maxWaiting is the most unanswered questions of one kind.
const maxWaiting = 16

// question sends a question and waits for the answer, the end of ctx, or the end of the
// connection. Another goroutine must call Read meanwhile. The question stays open after ctx
// ends, so that a late answer is taken for this question and not for the next.
func question[T any](ctx context.Context, c *Conn, op string, waiting *[]chan<- T, frame ...byte) (T, error) {
	// The buffer lets the reader deliver a late answer without waiting.
	answer := make(chan T, 1)
	var none T
	c.mu.Lock()
	if len(*waiting) >= maxWaiting {
		c.mu.Unlock()
		return none, &term.Error{
			Op:   op,
			Kind: term.LimitExceeded,
			Msg:  "too many unanswered questions to the server; it may not support this option",
		}
	}
	*waiting = append(*waiting, answer)
	c.e.send(frame...)
	c.mu.Unlock()
	c.flush()
	select {
	case a := <-answer:
		return a, nil
	case <-ctx.Done():
		return none, unanswered(ctx, op)
	case <-c.done:
		return none, errClosed(op)
	}
}

// unanswered returns the error of a ctx that ended before the answer: ExecTimeout or
// Canceled.
func unanswered(ctx context.Context, op string) *term.Error {
	kind := term.ExecTimeout
	if errors.Is(ctx.Err(), context.Canceled) {
		kind = term.Canceled
	}
	return &term.Error{
		Op:   op,
		Kind: kind,
		Err:  ctx.Err(),
		Msg:  "the server has not answered in time; it may not support this request",
	}
}

// TimingMark waits until the server has processed all bytes written before (RFC 860). Not
// every server answers, so ctx should have a deadline.
func (c *Conn) TimingMark(ctx context.Context) error {
	if err := c.mustSpeak("timing mark"); err != nil {
		return err
	}
	_, err := question(ctx, c, "timing mark", &c.e.probes, cmdIAC, cmdDO, byte(TimingMark))
	return err
}

// Logout asks the server to end the login (RFC 727), and waits until it agrees or the
// connection ends. Not every server answers, so ctx should have a deadline.
func (c *Conn) Logout(ctx context.Context) error {
	if err := c.mustSpeak("logout"); err != nil {
		return err
	}
	agreed, err := question(ctx, c, "logout", &c.e.logouts, cmdIAC, cmdDO, byte(Logout))
	if err == nil && !agreed {
		err = &term.Error{
			Op:   "logout",
			Kind: term.Unsupported,
			Msg:  "the server refuses to end the login; type its own command for that, or close the connection",
		}
	}
	return err
}

// RemoteStatus asks the server for its list of agreed options (RFC 859). It returns commands
// without IAC.
func (c *Conn) RemoteStatus(ctx context.Context) ([]byte, error) {
	c.mu.Lock()
	on := c.e.on(them, Status)
	c.mu.Unlock()
	if !on {
		return nil, &term.Error{
			Op:   "status",
			Kind: term.Unsupported,
			Msg:  "the server has not agreed to report its options (option status)",
		}
	}
	return question(ctx, c, "status", &c.e.status, cmdIAC, cmdSB, byte(Status), subSEND, cmdIAC, cmdSE)
}
