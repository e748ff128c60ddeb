package telnet

import (
	"context"
	"errors"

	"ptyctl/term"
)

// timingMark takes a command of TIMING-MARK (RFC 860).
func (e *engine) timingMark(verb byte) {
	switch verb {
	case cmdDO: // we process what we receive in order, so that the mark is reached at once
		if e.mayAnswer() {
			e.send(cmdIAC, cmdWILL, byte(TimingMark))
		}
	case cmdWILL, cmdWONT: // either says that what was sent before has been taken
		e.probes = answered(e.probes, true)
	}
}

// logout takes a command of LOGOUT (RFC 727). A server may end the login; it need not ask.
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

// hearStatus takes the far side's view of what is agreed (RFC 859).
func (e *engine) hearStatus(data []byte) {
	e.status = answered(e.status, append([]byte(nil), data...))
}

// answered gives an answer to the first that waits for one. Each channel has room for it.
func answered[T any](waiting []chan<- T, answer T) []chan<- T {
	if len(waiting) == 0 {
		return nil
	}
	waiting[0] <- answer
	return waiting[1:]
}

// maxWaiting bounds the questions that are open at a time.
const maxWaiting = 16

// question asks something and waits for the answer, the end of ctx, or that of the connection. Somebody must Read
// meanwhile. What was asked stays asked: an answer that comes late is taken for this question, not for the next.
func question[T any](ctx context.Context, c *Conn, op string, waiting *[]chan<- T, frame ...byte) (T, error) {
	answer := make(chan T, 1)
	var none T
	c.mu.Lock()
	if len(*waiting) >= maxWaiting {
		c.mu.Unlock()
		return none, &term.Error{
			Op:   op,
			Kind: term.LimitExceeded,
			Msg:  "too many questions to the server are unanswered; it seems not to know this option",
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

// unanswered says that ctx ended before an answer came.
func unanswered(ctx context.Context, op string) *term.Error {
	kind := term.ExecTimeout
	if errors.Is(ctx.Err(), context.Canceled) {
		kind = term.Canceled
	}
	return &term.Error{
		Op:   op,
		Kind: kind,
		Err:  ctx.Err(),
		Msg:  "the server has not answered in time; it may not know this request",
	}
}

// TimingMark waits until the server has taken everything that was written before (RFC 860). Not every server answers:
// give ctx a deadline.
func (c *Conn) TimingMark(ctx context.Context) error {
	if err := c.mustSpeak("timing mark"); err != nil {
		return err
	}
	_, err := question(ctx, c, "timing mark", &c.e.probes, cmdIAC, cmdDO, byte(TimingMark))
	return err
}

// Logout asks the server to end the login (RFC 727), and waits until it agrees or the connection ends. Not every
// server answers: give ctx a deadline.
func (c *Conn) Logout(ctx context.Context) error {
	if err := c.mustSpeak("logout"); err != nil {
		return err
	}
	agreed, err := question(ctx, c, "logout", &c.e.logouts, cmdIAC, cmdDO, byte(Logout))
	if err == nil && !agreed {
		err = &term.Error{
			Op:   "logout",
			Kind: term.Unsupported,
			Msg:  "the server does not end the login for the asking; type its own command for that, or close the connection",
		}
	}
	return err
}

// RemoteStatus asks the server what it holds for agreed (RFC 859). What it answers is a list of commands without IAC.
func (c *Conn) RemoteStatus(ctx context.Context) ([]byte, error) {
	c.mu.Lock()
	on := c.e.on(him, Status)
	c.mu.Unlock()
	if !on {
		return nil, &term.Error{
			Op:   "status",
			Kind: term.Unsupported,
			Msg:  "the server has not agreed to tell its state (option status)",
		}
	}
	return question(ctx, c, "status", &c.e.status, cmdIAC, cmdSB, byte(Status), subSEND, cmdIAC, cmdSE)
}
