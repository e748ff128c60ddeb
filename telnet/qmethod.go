package telnet

// RFC 1143: each option has a state on each of two sides. A request of the peer is answered
// only if it changes the state, so that two ends cannot answer each other without end.

// A side is the end of the connection that performs an option.
type side uint8

const (
	us   side = iota // we do: we send WILL and WONT, the peer DO and DONT
	them             // the peer does: the reverse
)

// verb returns the command that we send about an option of side s, for yes and no.
func (s side) verb(yes bool) byte {
	switch {
	case s == us && yes:
		return cmdWILL
	case s == us:
		return cmdWONT
	case yes:
		return cmdDO
	default:
		return cmdDONT
	}
}

// sideOf returns the side of the option in a received verb, and whether it should be on.
func sideOf(verb byte) (s side, yes bool) {
	switch verb {
	case cmdWILL:
		return them, true
	case cmdWONT:
		return them, false
	case cmdDO:
		return us, true
	default:
		return us, false
	}
}

// A qState is the state of one option on one side (RFC 1143 section 7). Opposite is the queue
// bit: the opposite request must follow once the current one is answered.
type qState uint8

const (
	qNo qState = iota
	qYes
	qWantNo
	qWantNoOpposite
	qWantYes
	qWantYesOpposite
)

// on reports whether the option is in effect.
func (q qState) on() bool { return q == qYes }

// A reply is the command that must be sent.
type reply uint8

const (
	replyNone reply = iota
	replyYes
	replyNo
)

// received returns the state after the peer's yes (WILL or DO) or no, and the reply. agree
// says whether we accept the option.
func (q qState) received(yes, agree bool) (qState, reply) {
	if yes {
		switch q {
		case qNo:
			if agree {
				return qYes, replyYes
			}
			return qNo, replyNo
		case qWantNo: // a peer's error: it answered no by yes
			return qNo, replyNone
		case qWantNoOpposite: // likewise
			return qYes, replyNone
		case qWantYes:
			return qYes, replyNone
		case qWantYesOpposite:
			return qWantNo, replyNo
		default:
			return q, replyNone
		}
	}
	switch q {
	case qYes:
		return qNo, replyNo
	case qWantNoOpposite:
		return qWantYes, replyYes
	default:
		return qNo, replyNone
	}
}

// ask returns the state after our request to switch the option on or off, and the command to
// send.
func (q qState) ask(on bool) (qState, reply) {
	if on {
		switch q {
		case qNo:
			return qWantYes, replyYes
		case qWantNo:
			return qWantNoOpposite, replyNone
		case qWantYesOpposite:
			return qWantYes, replyNone
		default:
			return q, replyNone
		}
	}
	switch q {
	case qYes:
		return qWantNo, replyNo
	case qWantYes:
		return qWantYesOpposite, replyNone
	case qWantNoOpposite:
		return qWantNo, replyNone
	default:
		return q, replyNone
	}
}
