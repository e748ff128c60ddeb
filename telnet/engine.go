package telnet

import (
	"time"

	"ptyctl/term"
)

const (
	// The answers that the far side can make us send.
	answerBurst     = 100
	answersASecond  = 10
	maxControl      = 64 << 10 // bytes that wait to be written
	maxLoop         = 10000    // negotiation commands without one byte of data
	loopsForgiven   = 1        // a second: what comes as rarely is a keepalive
	subTimeout      = 10 * time.Second
	enoughTerminals = 1000 // keeps the counter of names from running over
)

// An engine is the protocol without a connection: it is given what was read, and keeps what is to be written. Its
// methods require the Conn's mutex.
type engine struct {
	config Config
	dec    Decoder
	states [2][256]qState // by side
	spoken bool           // the far side has sent a Telnet command

	control []byte // commands waiting to be written
	sizeDue bool   // the window size is to be told with them

	cols, rows         int       // the window's size
	toldCols, toldRows int       // what the far side was told last
	toldAt             time.Time // when
	toldTerminal       string    // the terminal name told last
	terminal           int       // how many names were told since the option was agreed
	charset            string    // agreed

	answers    bucket
	loops      bucket
	err        error // why the connection must end
	suppressed int64 // answers not given
	malformed  int64
	negotiated int64 // negotiation commands received
	exchange   int64 // data bytes before the first of them
	lastAt     int64 // and before the last
	subSince   time.Time

	probes  []chan<- bool   // of TIMING-MARK, in the order asked
	logouts []chan<- bool   // of LOGOUT
	status  []chan<- []byte // of STATUS
	serial  serial
}

func newEngine(c Config) *engine {
	e := &engine{config: c, cols: c.Cols, rows: c.Rows, spoken: c.Mode == ModeTelnet}
	e.dec.OnEvent, e.dec.KeepNUL = e.event, !e.spoken
	for _, o := range c.Offer {
		e.ask(us, o, true)
	}
	return e
}

// receive takes the commands out of what was read, and returns the length of the data.
func (e *engine) receive(p []byte) int {
	if e.config.Mode == ModeRaw {
		return len(p)
	}
	if e.dec.InSubnegotiation() && time.Since(e.subSince) > subTimeout {
		e.dec.Abandon()
	}
	subs := e.dec.subs
	n := e.dec.Decode(p)
	if e.dec.subs != subs {
		e.subSince = time.Now()
	}
	return n
}

// end says that the stream has ended.
func (e *engine) end() { e.dec.End() }

// settled reports whether negotiation is over for sure: data came after it.
func (e *engine) settled() bool { return e.negotiated > 0 && e.dec.total > e.exchange }

// event takes what the decoder finds.
func (e *engine) event(ev Event) {
	switch ev.Kind {
	case OptionReceived, SubnegotiationReceived, SubnegotiationCut:
		if e.negotiated == 0 {
			e.exchange = ev.At
		}
		e.negotiated++
		if ev.At != e.lastAt {
			e.loops, e.lastAt = bucket{}, ev.At
		}
		if e.err == nil && !e.loops.take(maxLoop, loopsForgiven) {
			e.err = &term.Error{
				Op:   "read",
				Kind: term.NegotiationLoop,
				Msg:  "the server sent 10000 option requests without one byte of data; the connection is closed: its Telnet implementation does not end negotiation, or this is no Telnet server (telnet.mode raw)",
			}
		}
		e.hear()
	case CommandReceived:
		e.hear()
	case CommandRun:
		for _, b := range ev.Data {
			if kindOf(b) == CommandReceived {
				e.hear()
			} else {
				e.malformed++
			}
		}
	default:
		e.malformed++
	}
	switch ev.Kind {
	case OptionReceived:
		e.option(byte(ev.Command), ev.Option)
	case SubnegotiationCut:
		e.malformed++
		e.subnegotiation(ev.Option, ev.Data)
	case SubnegotiationReceived:
		e.subnegotiation(ev.Option, ev.Data)
	}
	if e.config.OnEvent != nil {
		ev.Each(e.config.OnEvent)
	}
}

// hear notes that the far side speaks Telnet.
func (e *engine) hear() {
	if e.spoken {
		return
	}
	e.spoken = true
	e.dec.KeepNUL = false // from here on it is NVT
	if e.config.Binary == BinaryAlways {
		e.ask(us, Binary, true)
		e.ask(him, Binary, true)
	}
}

// option answers WILL, WONT, DO or DONT.
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
			return // as if it had not been heard
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

// ask requests an option, or its end.
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

// agrees reports whether we want an option that the far side asks for.
func (e *engine) agrees(s side, o Option) bool {
	switch o {
	case Binary:
		return e.config.Binary != BinaryNever
	case SGA, Charset:
		return true
	case Echo, EndOfRecord, Status:
		return s == him // to echo what the server sends would be a loop
	case TerminalType, NAWS:
		return s == us && !e.config.NoWindow
	case TerminalSpeed, NewEnviron, ComPort:
		return s == us
	default:
		return false
	}
}

// changed takes the consequences of an option that is now on, or off.
func (e *engine) changed(s side, o Option, on bool) {
	switch {
	case s == him && o == Binary:
		e.dec.KeepNUL = on
	case s == us && o == NAWS:
		e.sizeDue, e.toldAt = false, time.Time{}
		if on { // in its place among the answers
			e.control = e.tellSize(e.control)
		}
	case s == us && o == TerminalType:
		e.terminal = 0
	case o == Charset && !e.states[us][o].on() && !e.states[him][o].on():
		e.charset = ""
	case s == us && o == ComPort && !on:
		e.serial.lost()
	}
}

// on reports whether an option is agreed.
func (e *engine) on(s side, o Option) bool { return e.states[s][o].on() }

// mayAnswer reports whether another answer may be given, and counts those that may not.
func (e *engine) mayAnswer() bool {
	if e.err == nil && len(e.control) < maxControl && e.answers.take(answerBurst, answersASecond) {
		return true
	}
	e.suppressed++
	return false
}

// send puts bytes into the queue.
func (e *engine) send(p ...byte) { e.control = append(e.control, p...) }

// answer puts a subnegotiation into the queue, if another answer may be given.
func (e *engine) answer(o Option, data ...byte) {
	if e.mayAnswer() {
		e.control = appendSub(e.control, o, data...)
	}
}

// pending reports whether something is to be written.
func (e *engine) pending() bool { return len(e.control) > 0 || e.sizeDue }

// take appends what is to be written to dst.
func (e *engine) take(dst []byte) []byte {
	dst = append(dst, e.control...)
	if e.control = e.control[:0]; cap(e.control) > 4<<10 {
		e.control = nil
	}
	if e.sizeDue {
		dst = e.tellSize(dst)
	}
	return dst
}

// encoding returns how data is written now.
func (e *engine) encoding() encoding {
	c := encoding{enter: "\r", raw: !e.spoken || e.config.Mode == ModeRaw}
	switch e.config.Enter {
	case EnterCR:
	case EnterCRLF:
		c.enter = "\r\n"
	case EnterCRNUL:
		c.enter = "\r\x00"
	case EnterLF:
		c.enter = "\n"
	default:
		if !c.raw && !e.on(us, Binary) {
			c.enter = "\r\x00"
		}
	}
	return c
}

func (c encoding) name() Enter {
	switch c.enter {
	case "\r\n":
		return EnterCRLF
	case "\r\x00":
		return EnterCRNUL
	case "\n":
		return EnterLF
	default:
		return EnterCR
	}
}
