package telnet

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

const (
	maxSubnegotiation = 4 << 10  // most bytes kept of a subnegotiation
	lostInside        = 64 << 10 // a longer one is taken as unterminated
)

// A Decoder removes the commands from a stream. The zero value is ready and starts with NVT
// data (RFC 854).
type Decoder struct {
	// OnEvent is called during Decode for each command, or once for a run of two-byte commands.
	// It may change KeepNUL; the change applies from the next byte on.
	OnEvent func(Event)

	// KeepNUL is the receiving side of BINARY. Without it NUL is dropped: RFC 854 puts it after
	// CR, and devices send it anywhere.
	KeepNUL bool

	state   decoderState
	command byte   // WILL, WONT, DO or DONT, in state inOption
	option  Option // the option of the subnegotiation
	sub     []byte // its data
	size    int    // its length, including bytes not kept
	dropped bool   // it will not be delivered
	subs    int    // number of subnegotiations so far
	total   int64  // data bytes before this call
	out     int    // data bytes of this call, up to the current byte
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

// Decode removes the commands from p and returns the length of the data, which it moves to
// the start of p. It keeps all state between calls, so the stream may be cut anywhere. It
// does not allocate for data.
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

// data decodes from p[r] in state inData and writes at p[w], until the state changes or p
// ends.
func (d *Decoder) data(p []byte, w, r int) (int, int) {
	on := d.OnEvent
	if on == nil {
		on = func(Event) {}
	}
	// iac is the offset of the next IAC, unless it is before r. It stays known past NULs, so no byte is searched for it
	// twice and a search need not stop early: text is decoded 1.2 times as fast as with searches of 1 KiB.
	iac := -1
	// single counts data bytes in a row: a search with package bytes only pays for longer runs.
	for single := 0; r < len(p); {
		switch b := p[r]; {
		case b == cmdIAC:
			single = 0
			if len(p)-r < 3 { // the fast path needs a whole command
				d.state = inIAC
				return w, r + 1
			}
			switch next := p[r+1]; {
			case next == cmdIAC:
				p[w] = cmdIAC
				w++
				r += 2
			case next >= cmdWILL:
				on(Event{Kind: OptionReceived, Command: Command(next), Option: Option(p[r+2]), At: d.total + int64(w)})
				r += 3
			case next < cmdSB:
				if p[r+2] != cmdIAC { // a single command
					on(Event{Kind: CommandRun, Data: p[r+1 : r+2], At: d.total + int64(w)})
					r += 2
					break
				}
				n := run(p[r:])
				on(Event{Kind: CommandRun, Data: p[r : r+n], At: d.total + int64(w)})
				r += 2 * n
			default:
				data, ok := shortSub(p[r:])
				if !ok {
					d.state = inIAC
					return w, r + 1
				}
				d.subs++
				on(
					Event{
						Kind:    SubnegotiationReceived,
						Command: Command(cmdSE),
						Option:  Option(p[r+2]),
						Data:    data,
						Size:    len(data),
						At:      d.total + int64(w),
					},
				)
				r += len(data) + 5
			}
		case b == 0 && !d.KeepNUL:
			r++
			single = 0
		case single < 4:
			p[w] = b
			w++
			r++
			single++
		default:
			n, found := d.cleanNear(p[w:], p[r:min(len(p), r+stride)], r-w)
			w, r = w+n, r+n
			if found {
				break
			}
			if iac < r {
				iac = r + index(p[r:], cmdIAC)
			}
			n = iac - r
			if !d.KeepNUL {
				n = index(p[r:iac], 0)
			}
			if r > w {
				copy(p[w:], p[r:r+n])
			}
			w, r = w+n, r+n
		}
	}
	return w, r
}

// shortSub returns the data of a short subnegotiation at the front of p. It returns false for
// any other start, or if p does not hold all of it.
func shortSub(p []byte) (data []byte, ok bool) {
	if p[2] == cmdIAC {
		return nil, false
	}
	data, end := p[3:min(len(p), 3+64)], 0
	for end < len(data) && data[end] != cmdIAC { // most are very short: bytes.IndexByte would be slower
		end++
	}
	if end+1 >= len(data) || data[end+1] != cmdSE {
		return nil, false
	}
	return data[:end:end], true
}

// run returns the number of two-byte commands at the front of p, and moves them together
// without their IACs. A device may send only commands for a long time, and one call for each
// would dominate the cost of decoding.
func run(p []byte) (n int) {
	for i := 0; i+1 < len(p) && p[i] == cmdIAC && p[i+1] < cmdSB; i += 2 {
		p[n] = p[i+1]
		n++
	}
	return n
}

// stride is how many bytes are tested eight at a time, before the search uses package bytes.
const stride = 64

// index is bytes.IndexByte, but len(p) if p does not contain b.
func index(p []byte, b byte) int {
	if i := bytes.IndexByte(p, b); i >= 0 {
		return i
	}
	return len(p)
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// cleanNear moves data from the short src to dst, up to the first byte that is not plain data, and returns the number
// of bytes moved and whether it found such a byte. dst begins gap bytes before src in the same array.
func (d *Decoder) cleanNear(dst, src []byte, gap int) (n int, found bool) {
	nuls := uint64(highs)
	if d.KeepNUL {
		nuls = 0
	}
	for ; n+8 <= len(src); n += 8 {
		x := binary.LittleEndian.Uint64(src[n:])
		// The lowest bit set marks the first byte that is 0 or 255; bits above it may be wrong.
		if special := (^x-ones)&x&highs | (x-ones)&^x&nuls; special != 0 {
			for last := n + bits.TrailingZeros64(special)/8; n < last; n++ {
				dst[n] = src[n]
			}
			return n, true
		}
		if gap > 0 {
			binary.LittleEndian.PutUint64(dst[n:], x)
		}
	}
	for ; n < len(src); n++ {
		b := src[n]
		if b == cmdIAC || b == 0 && nuls != 0 {
			return n, true
		}
		dst[n] = b
	}
	return n, false
}

// step handles a byte in any state except inData and inSub, and reports whether it is data.
func (d *Decoder) step(b byte) bool {
	switch d.state {
	case inIAC:
		return d.afterIAC(b)
	case inOption:
		d.state = inData
		d.emit(Event{Kind: OptionReceived, Command: Command(d.command), Option: Option(b)})
	case inSubOption:
		if b == cmdIAC { // no option has this number: a server's error
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

// afterIAC handles the byte after IAC outside of a subnegotiation, and reports whether it is
// data.
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
	default:
		d.emit(Event{Kind: kindOf(b), Command: Command(b)})
	}
	return false
}

// subData handles data of a subnegotiation and returns how many bytes of p it used.
func (d *Decoder) subData(p []byte) int {
	n := index(p, cmdIAC)
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

// keep adds p to the subnegotiation's data, or only counts it beyond maxSubnegotiation.
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

// InSubnegotiation reports whether the stream is inside a subnegotiation that can still be
// delivered.
func (d *Decoder) InSubnegotiation() bool {
	return (d.state == inSub || d.state == inSubIAC) && !d.dropped
}

// Abandon drops the current subnegotiation, because it is too long or takes too long. Its
// further bytes are still not data.
func (d *Decoder) Abandon() {
	d.dropped, d.sub = true, d.sub[:0]
	d.emit(Event{Kind: SubnegotiationOverflow, Option: d.option, Size: min(d.size, maxSubnegotiation+1)})
}

// End ends the stream. It reports whether the stream ended inside a command.
func (d *Decoder) End() bool {
	if d.state == inData {
		return false
	}
	d.state = inData
	d.emit(Event{Kind: TruncatedAtEOF})
	return true
}

// endSub ends a subnegotiation by the command b and delivers it, unless it was dropped.
func (d *Decoder) endSub(kind EventKind, b byte) {
	d.state = inData
	if !d.dropped {
		d.emit(Event{Kind: kind, Command: Command(b), Option: d.option, Data: d.sub, Size: d.size})
	}
}

// emit calls OnEvent with the event's position in the data.
func (d *Decoder) emit(e Event) {
	e.At = d.total + int64(d.out)
	if d.OnEvent != nil {
		d.OnEvent(e)
	}
}
