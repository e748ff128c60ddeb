package telnet

import (
	"time"

	"ptyctl/term"
)

const (
	// The limits on the answers that the peer can cause: a burst, then a rate. No real server
	// needs more than some twenty answers for its login.
	answerBurst     = 100
	answersASecond  = 10
	maxControl      = 64 << 10 // most bytes waiting to be written
	maxLoop         = 10000    // most negotiation commands without a byte of data
	loopsForgiven   = 1        // a second: slower commands are a keep-alive
	subTimeout      = 10 * time.Second
	enoughTerminals = 1000 // bound for the counter of names
)

// An engine is the protocol without a connection: it gets the bytes read, and holds the bytes
// to write. The caller must hold the Conn's mutex for all its methods.
type engine struct {
	config Config
	dec    Decoder
	states [2][256]qState // indexed by side
	spoken bool           // the peer has sent a Telnet command

	control []byte // commands waiting to be written

	windowSize
	sentTerminal string // the terminal name last sent
	terminal     int    // names sent since the option was agreed
	charset      string // agreed by CHARSET; empty if none

	answers    bucket
	loops      bucket
	err        error // why the connection must end
	suppressed int64 // answers withheld by the limits
	malformed  int64
	negotiated int64     // negotiation commands received
	exchange   int64     // data bytes before the first of them
	lastAt     int64     // and before the last one
	subSince   time.Time // start of the current subnegotiation

	probes  []chan<- bool   // waiting for TIMING-MARK, oldest first
	logouts []chan<- bool   // waiting for LOGOUT
	status  []chan<- []byte // waiting for STATUS
	serial  serial
	clear   transparency
}

// A windowSize is the size of the terminal's window, as NAWS sends it (RFC 1073).
type windowSize struct {
	cols, rows         int
	sizeDue            bool      // the size must be sent after the commands in control
	sentCols, sentRows int       // the size last sent
	sentAt             time.Time // time of that
}

// newEngine returns an engine with the configured offers ready to be sent.
func newEngine(c Config) *engine {
	e := &engine{config: c, windowSize: windowSize{cols: c.Cols, rows: c.Rows}, spoken: c.Mode == ModeTelnet}
	e.dec.OnEvent, e.dec.KeepNUL = e.event, !e.spoken
	for _, o := range c.Offer {
		e.ask(us, o, true)
	}
	return e
}

// receive removes the commands from the bytes read, and returns the length of the data.
func (e *engine) receive(p []byte) int {
	if e.config.Mode == ModeRaw || e.clear.raw {
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
	if e.clear.on && !e.on(them, Binary) {
		n = e.clear.strip(p[:n])
	}
	return n
}

// end ends the stream.
func (e *engine) end() { e.dec.End() }

// settled reports whether negotiation is certainly over: data came after it.
func (e *engine) settled() bool { return e.negotiated > 0 && e.dec.total > e.exchange }

// event handles an event of the decoder: it counts it, answers it, and passes it to OnEvent.
func (e *engine) event(ev Event) {
	switch ev.Kind {
	case OptionReceived, SubnegotiationReceived, SubnegotiationCut:
		if e.negotiated == 0 {
			e.exchange = ev.At
		}
		e.negotiated++
		// Data between two commands shows that the negotiation makes progress.
		if ev.At != e.lastAt {
			e.loops, e.lastAt = bucket{}, ev.At
		}
		if e.err == nil && !e.loops.take(maxLoop, loopsForgiven) {
			e.err = &term.Error{
				Op:     "read",
				Kind:   term.NegotiationLoop,
				Reason: term.ReasonNegotiation,
				Msg: "the server sent 10000 option requests without one byte of data; the connection is closed: " +
					"its Telnet implementation does not end negotiation, or this is not a Telnet server",
				Advice: "use ModeRaw for other servers",
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

// hear records that the peer speaks Telnet.
func (e *engine) hear() {
	if e.spoken {
		return
	}
	e.spoken = true
	e.keepNUL() // from now on the data is NVT
	if e.config.Binary == BinaryAlways {
		e.ask(us, Binary, true)
		e.ask(them, Binary, true)
	}
}

// mayAnswer reports whether the limits allow another answer, and counts the withheld ones.
func (e *engine) mayAnswer() bool {
	if e.err == nil && len(e.control) < maxControl && e.answers.take(answerBurst, answersASecond) {
		return true
	}
	e.suppressed++
	return false
}

// send queues bytes for writing.
func (e *engine) send(p ...byte) { e.control = append(e.control, p...) }

// answer queues a subnegotiation if the limits allow another answer.
func (e *engine) answer(o Option, data ...byte) {
	if e.mayAnswer() {
		e.control = appendSub(e.control, o, data...)
	}
}

// pending reports whether there are bytes to write.
func (e *engine) pending() bool { return len(e.control) > 0 || e.sizeDue }

// take appends the pending bytes to dst and empties the queue.
func (e *engine) take(dst []byte) []byte {
	dst = append(dst, e.control...)
	if e.control = e.control[:0]; cap(e.control) > 4<<10 {
		e.control = nil
	}
	if e.sizeDue {
		dst = e.appendSize(dst)
	}
	return dst
}

// encoding returns the present encoding of data.
func (e *engine) encoding() encoding {
	c := encoding{enter: "\r", raw: !e.spoken || e.config.Mode == ModeRaw, exact: e.clear.on}
	enter := e.config.Enter
	if e.clear.on {
		enter = EnterAuto
		c.nop = !c.raw && !e.on(us, Binary)
	}
	switch enter {
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

// name returns the Enter value for term.Telnet.
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
