package telnet

import (
	"bytes"
	"context"
	"time"

	"ptyctl/term"
)

// option answers WILL, WONT, DO or DONT by the rules of RFC 1143.
func (e *engine) option(verb byte, o Option) {
	switch o {
	case TimingMark: // no state: every request is answered (RFC 860)
		e.timingMark(verb)
		return
	case Logout:
		e.logout(verb)
		return
	}
	s, yes := sideOf(verb)
	old := e.states[s][o]
	next, r := old.received(yes, e.agrees(s, o))
	if r != replyNone && !e.mayAnswer() {
		if yes {
			return // drop the request
		}
		r = replyNone
	}
	e.states[s][o] = next
	if r != replyNone {
		e.send(cmdIAC, s.verb(r == replyYes), byte(o))
	}
	if old.on() != next.on() {
		e.changed(s, o, next.on())
	}
	if o == Binary {
		e.clear.wake()
	}
}

// ask requests to switch an option on or off.
func (e *engine) ask(s side, o Option, on bool) {
	old := e.states[s][o]
	next, r := old.ask(on)
	e.states[s][o] = next
	if r != replyNone {
		e.send(cmdIAC, s.verb(r == replyYes), byte(o))
	}
	if old.on() != next.on() {
		e.changed(s, o, next.on())
	}
}

// agrees reports whether we accept an option that the peer requests.
func (e *engine) agrees(s side, o Option) bool {
	switch o {
	case Binary:
		return e.config.Binary != BinaryNever
	case SGA, Charset:
		return true
	case Echo, EndOfRecord, Status:
		return s == them // echoing the server's own output would loop
	case TerminalType, NAWS:
		return s == us && !e.config.NoWindow
	case TerminalSpeed, NewEnviron, ComPort:
		return s == us
	default:
		return false
	}
}

// changed applies the effects of an option that was switched on or off.
func (e *engine) changed(s side, o Option, on bool) {
	switch {
	case s == them && o == Binary:
		e.keepNUL()
	case s == us && o == NAWS:
		e.sizeDue, e.sentAt = false, time.Time{}
		if on { // in order with the other answers
			e.control = e.appendSize(e.control)
		}
	case s == us && o == TerminalType:
		e.terminal = 0
	case o == Charset && !e.states[us][o].on() && !e.states[them][o].on():
		e.charset = ""
	case s == us && o == ComPort && !on:
		e.serial.lost()
	}
}

// on reports whether an option is agreed.
func (e *engine) on(s side, o Option) bool { return e.states[s][o].on() }

// A transparency is the state of a Conn that carries every byte as it is.
type transparency struct {
	on      bool
	raw     bool          // the peer has not spoken Telnet before: all of its bytes are data
	changed chan struct{} // buffered: an answer about BINARY has come; nil: nothing waits for it
	afterCR bool          // the last byte was CR
	bare    bool          // the peer sends CR without NUL, against RFC 854: a NUL after CR is data
}

// wake wakes the caller of Transparent after an answer.
func (t *transparency) wake() {
	select {
	case t.changed <- struct{}{}:
	default: // nothing waits, or it knows
	}
}

// strip removes the NUL after each CR (RFC 854, "the Network Virtual Terminal") and returns the length of the rest.
func (t *transparency) strip(p []byte) int {
	if !t.afterCR && bytes.IndexByte(p, '\r') < 0 {
		return len(p)
	}
	n := 0
	for _, b := range p {
		if t.afterCR && b != 0 && b != '\n' {
			t.bare = true
		}
		if drop := t.afterCR && b == 0 && !t.bare; !drop {
			p[n] = b
			n++
		}
		t.afterCR = b == '\r'
	}
	return n
}

// keepNUL sets whether NULs are data for the decoder.
func (e *engine) keepNUL() { e.dec.KeepNUL = !e.spoken || e.on(them, Binary) || e.clear.on }

// asking reports whether an answer about BINARY has yet to come.
func (e *engine) asking() bool {
	waits := func(s side) bool { return e.states[s][Binary] == qWantYes || e.states[s][Binary] == qWantYesOpposite }
	return waits(us) || waits(them)
}

// binaryWait is how long the server's answer to BINARY is waited for. Some servers never answer.
const binaryWait = 3 * time.Second

// Transparent lets every byte pass unchanged in both directions until restore is called: with BINARY (RFC 856) on both
// sides if the server agrees. Otherwise CR is sent and taken as RFC 854 has it, and doubt says so: some servers lose the
// highest bit then, or bytes around CR. With a peer that does not speak Telnet, all bytes are data. Only Read sees the
// server's answer, so it must go on.
func (c *Conn) Transparent(ctx context.Context) (restore func(), doubt string, err error) {
	c.mu.Lock()
	e := c.e
	if e.clear.on {
		c.mu.Unlock()
		return nil, "", &term.Error{Op: "copy", Kind: term.Busy, Msg: "the connection is transparent for another caller"}
	}
	e.clear = transparency{on: true, raw: !e.spoken, changed: make(chan struct{}, 1)}
	e.keepNUL()
	was := [2]bool{us: e.on(us, Binary), them: e.on(them, Binary)}
	if e.spoken && e.config.Mode != ModeRaw && e.agrees(us, Binary) {
		e.ask(us, Binary, true)
		e.ask(them, Binary, true)
	}
	changed := e.clear.changed
	c.mu.Unlock()
	c.flush()
	restore = func() { c.opaque(was) }
	limit := time.NewTimer(binaryWait)
	defer limit.Stop()
	for waits := true; waits; {
		c.mu.Lock()
		waits = e.asking()
		c.mu.Unlock()
		if !waits {
			break
		}
		select {
		case <-changed:
		case <-limit.C:
			waits = false
		case <-ctx.Done():
			restore()
			return nil, "", context.Cause(ctx)
		case <-c.done:
			restore()
			return nil, "", errClosed("copy")
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.spoken && e.config.Mode != ModeRaw && !(e.on(us, Binary) && e.on(them, Binary)) {
		doubt = "the Telnet server has not agreed to carry eight bits unchanged (BINARY, RFC 856)"
	}
	return restore, doubt, nil
}

// opaque ends Transparent. Each side goes back to the BINARY that it was.
func (c *Conn) opaque(was [2]bool) {
	c.mu.Lock()
	e := c.e
	e.clear = transparency{}
	for s, before := range was {
		if !before && e.spoken {
			e.ask(side(s), Binary, false)
		}
	}
	e.keepNUL()
	c.mu.Unlock()
	c.flush()
}
