package telnet

// RFC 1143: each option has a state on each of two sides. The far side's requests are answered only when they change
// it, so that two ends cannot answer one another for ever.

// A side says who performs an option.
type side uint8

const (
	us  side = iota // we do: WILL and WONT are ours, DO and DONT are theirs
	him             // the far side does: the other way round
)

// verbs are the commands that a side's state is told with: what we send for yes and no.
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

// sideOf says whose option a received verb is about, and whether it is to be on.
func sideOf(verb byte) (s side, yes bool) {
	switch verb {
	case cmdWILL:
		return him, true
	case cmdWONT:
		return him, false
	case cmdDO:
		return us, true
	default:
		return us, false
	}
}

// A qState is the state of one option on one side (RFC 1143 section 7). Opposite is the queue bit: the other request
// is made once the one under way is answered.
type qState uint8

const (
	qNo qState = iota
	qYes
	qWantNo
	qWantNoOpposite
	qWantYes
	qWantYesOpposite
)

// on reports whether the option is agreed.
func (q qState) on() bool { return q == qYes }

// A reply is what must be sent.
type reply uint8

const (
	replyNone reply = iota
	replyYes
	replyNo
)

// received returns the state after the far side's yes (WILL or DO) or no, given whether we would agree to have the
// option on.
func (q qState) received(yes, agree bool) (qState, reply) {
	if yes {
		switch q {
		case qNo:
			if agree {
				return qYes, replyYes
			}
			return qNo, replyNo
		case qWantNo: // an error of the far side's: no answered by yes
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

// ask returns the state after we want the option on or off.
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
