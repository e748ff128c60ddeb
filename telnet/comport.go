package telnet

import (
	"context"

	"ptyctl/term"
)

// A comPort sends the requests of RFC 2217 over a connection, one at a time.
type comPort struct {
	c    *Conn
	turn chan struct{} // held during a request and during a whole break
}

// breakOff ends a break without waiting for an answer.
func (p *comPort) breakOff() {
	c := p.c
	c.mu.Lock()
	if c.e.on(us, ComPort) {
		c.e.control = appendSub(c.e.control, ComPort, comSetControl, comControlBreakOff)
	}
	c.mu.Unlock()
	c.flush()
}

// ask waits for its turn, sends a request and returns the data of the answer.
func (p *comPort) ask(ctx context.Context, code byte, data ...byte) ([]byte, error) {
	if err := p.lock(ctx); err != nil {
		return nil, err
	}
	defer p.unlock()
	return p.request(ctx, code, data...)
}

// lock waits for the turn to send requests. Answers have no number, so only the order
// assigns them to requests of the same kind.
func (p *comPort) lock(ctx context.Context) error {
	c := p.c
	select {
	case p.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return unanswered(ctx, "serial")
	case <-c.done:
		return errClosed("serial")
	}
}

// unlock gives the turn to the next caller of lock.
func (p *comPort) unlock() { <-p.turn }

// request sends a request and returns the data of its answer. The caller must hold
// p.turn.
func (p *comPort) request(ctx context.Context, code byte, data ...byte) ([]byte, error) {
	c := p.c
	answer := make(chan []byte, 1)
	c.mu.Lock()
	if !c.e.on(us, ComPort) {
		c.mu.Unlock()
		return nil, &term.Error{
			Op:   "serial",
			Kind: term.Unsupported,
			Msg:  "the server offers no control of a serial line (RFC 2217); set the line on the console server itself",
		}
	}
	c.e.serial.code, c.e.serial.answer, c.e.serial.value = code, answer, 0
	if len(data) > 0 {
		c.e.serial.value = data[0]
	}
	c.e.control = appendSub(c.e.control, ComPort, append([]byte{code}, data...)...)
	c.mu.Unlock()
	c.flush()
	defer func() {
		c.mu.Lock()
		c.e.serial.answer = nil
		c.mu.Unlock()
	}()
	select {
	case got, ok := <-answer:
		if !ok {
			return nil, &term.Error{
				Op:   "serial",
				Kind: term.Unsupported,
				Msg:  "the server has withdrawn control of the serial line",
			}
		}
		return got, nil
	case <-ctx.Done():
		return nil, unanswered(ctx, "serial")
	case <-c.done:
		return nil, errClosed("serial")
	}
}

// askByte sends a request with an answer of one byte.
func (p *comPort) askByte(ctx context.Context, code, value byte) (byte, error) {
	got, err := p.ask(ctx, code, value)
	if err != nil {
		return 0, err
	}
	if len(got) != 1 {
		return 0, errComPort(code, got)
	}
	return got[0], nil
}
