package telnet

import "time"

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
		e.dec.KeepNUL = on
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
