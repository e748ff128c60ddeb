package telnet

import "bytes"

const (
	maxSubnegotiation = 4 << 10  // the most that is kept
	lostInside        = 64 << 10 // a subnegotiation that is longer has no end

	// nearby is how many bytes are looked at one by one before the search for the next special byte is left to
	// bytes.IndexByte, which is faster only over a distance.
	nearby = 16
)

// A Decoder takes the commands out of a stream. The zero value is ready; it starts as data in NVT.
type Decoder struct {
	// OnEvent is called for each command, during Decode. It may change KeepNUL, which counts from the next byte.
	OnEvent func(Event)

	// KeepNUL is the receiving side of BINARY. Without it NUL is dropped: it follows CR (RFC 854), and devices put it
	// anywhere.
	KeepNUL bool

	state   decoderState
	command byte   // WILL, WONT, DO or DONT, whose operand is awaited
	option  Option // of the subnegotiation
	sub     []byte // its data
	size    int    // its length, with what was not kept
	dropped bool   // it will not be delivered
	subs    int    // how many were begun
	total   int64  // data bytes before this call
	out     int    // data bytes of this call, up to the byte looked at
}

type decoderState uint8

const (
	inData      decoderState = iota
	inIAC                    // after IAC
	inOption                 // after IAC WILL, WONT, DO or DONT
	inSubOption              // after IAC SB
	inSub                    // in the data of a subnegotiation
	inSubIAC                 // after IAC in that
)

// Decode removes from p what is not data and returns the length of what is left at its start. All state is kept, so
// that the stream may be cut anywhere. It allocates nothing on the way of data.
func (d *Decoder) Decode(p []byte) int {
	w, r := 0, 0
	for r < len(p) {
		switch d.state {
		case inData:
			w, r = d.data(p, w, r)
		case inSub:
			d.out = w
			r += d.subData(p[r:])
		default:
			b := p[r]
			r++
			d.out = w
			if d.step(b) {
				p[w] = b
				w++
			}
		}
	}
	d.total += int64(w)
	d.out = 0
	return w
}

// data decodes from p[r] in state inData, writing at p[w], until the state changes or p ends.
func (d *Decoder) data(p []byte, w, r int) (int, int) {
	iac := -1 // where the next IAC is, if known; always >= r
	for clean := 0; r < len(p); {
		if clean < nearby {
			b := p[r]
			switch {
			case b == cmdIAC:
				clean = 0
				if len(p)-r >= 3 { // a whole command is the rule
					next := p[r+1]
					if next == cmdIAC {
						p[w] = cmdIAC
						w++
						r += 2
						continue
					}
					if next >= cmdWILL {
						d.out = w
						d.emit(Event{Kind: OptionReceived, Command: Command(next), Option: Option(p[r+2])})
						r += 3
						continue
					}
				}
				d.state = inIAC
				return w, r + 1
			case b == 0 && !d.KeepNUL:
				clean = 0
			default:
				clean++
				p[w] = b
				w++
			}
			r++
			continue
		}
		if iac < r {
			if i := bytes.IndexByte(p[r:], cmdIAC); i >= 0 {
				iac = r + i
			} else {
				iac = len(p)
			}
		}
		end := iac
		if !d.KeepNUL {
			if i := bytes.IndexByte(p[r:end], 0); i >= 0 {
				end = r + i
			}
		}
		if w != r {
			copy(p[w:], p[r:end])
		}
		w += end - r
		r, clean = end, 0
	}
	return w, r
}

// step takes a byte in any state but inData and inSub, and reports whether it is data.
func (d *Decoder) step(b byte) bool {
	switch d.state {
	case inIAC:
		return d.afterIAC(b)
	case inOption:
		d.state = inData
		d.emit(Event{Kind: OptionReceived, Command: Command(d.command), Option: Option(b)})
	case inSubOption:
		if b == cmdIAC { // no option has that number: the server has lost its way
			d.option, d.state = Option(b), inSubIAC
			break
		}
		d.option, d.state = Option(b), inSub
	case inSubIAC:
		switch b {
		case cmdIAC:
			d.state = inSub
			d.keep(cmdIAC)
		case cmdSE:
			d.endSub(SubnegotiationReceived, b)
		default:
			d.endSub(SubnegotiationCut, b)
			return d.afterIAC(b)
		}
	}
	return false
}

// afterIAC takes the byte after IAC outside of a subnegotiation, and reports whether it is data.
func (d *Decoder) afterIAC(b byte) bool {
	d.state = inData
	switch {
	case b == cmdIAC:
		return true
	case b >= cmdWILL:
		d.command, d.state = b, inOption
	case b == cmdSB:
		d.state = inSubOption
		d.sub, d.size, d.dropped = d.sub[:0], 0, false
		d.subs++
	case b == cmdSE:
		d.emit(Event{Kind: StraySE, Command: Command(b)})
	case b >= cmdEOF:
		d.emit(Event{Kind: CommandReceived, Command: Command(b)})
	default:
		d.emit(Event{Kind: NotACommand, Command: Command(b)})
	}
	return false
}

// subData takes data of a subnegotiation and returns how much of p that was.
func (d *Decoder) subData(p []byte) int {
	n := bytes.IndexByte(p, cmdIAC)
	if n < 0 {
		n = len(p)
	}
	if room := lostInside - d.size; n > room {
		n = room
	}
	d.keep(p[:n]...)
	if d.state == inSub && n < len(p) && p[n] == cmdIAC {
		d.state = inSubIAC
		n++
	}
	return n
}

// keep adds to the subnegotiation's data, or only counts what is too much.
func (d *Decoder) keep(p ...byte) {
	d.size += len(p)
	if !d.dropped && len(d.sub)+len(p) > maxSubnegotiation {
		d.Abandon()
	}
	if !d.dropped {
		d.sub = append(d.sub, p...)
	}
	if d.size >= lostInside {
		d.state = inData
		d.emit(Event{Kind: SubnegotiationLost, Option: d.option, Size: d.size})
	}
}

// InSubnegotiation reports whether the stream stands inside of a subnegotiation that can still be delivered.
func (d *Decoder) InSubnegotiation() bool {
	return (d.state == inSub || d.state == inSubIAC) && !d.dropped
}

// Abandon drops the subnegotiation that the stream stands in, because it is too long or takes too long. What comes of
// it is still no data.
func (d *Decoder) Abandon() {
	d.dropped, d.sub = true, nil
	d.emit(Event{Kind: SubnegotiationOverflow, Option: d.option, Size: min(d.size, maxSubnegotiation+1)})
}

// End says that the stream has ended. It reports whether that was inside a command.
func (d *Decoder) End() bool {
	if d.state == inData {
		return false
	}
	d.state = inData
	d.emit(Event{Kind: TruncatedAtEOF})
	return true
}

func (d *Decoder) endSub(kind EventKind, b byte) {
	d.state = inData
	if !d.dropped {
		d.emit(Event{Kind: kind, Command: Command(b), Option: d.option, Data: d.sub, Size: d.size})
	}
	if cap(d.sub) > 512 { // most are a few bytes long
		d.sub = nil
	}
}

func (d *Decoder) emit(e Event) {
	e.At = d.total + int64(d.out)
	if d.OnEvent != nil {
		d.OnEvent(e)
	}
}
