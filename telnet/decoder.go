package telnet

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

const (
	maxSubnegotiation = 4 << 10  // the most that is kept
	lostInside        = 64 << 10 // a subnegotiation that is longer has no end
)

// A Decoder takes the commands out of a stream. The zero value is ready; it starts as data in NVT.
type Decoder struct {
	// OnEvent is called for each command, or run of two-byte ones, during Decode. It may change KeepNUL, which counts
	// from the next byte.
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
	on := d.OnEvent
	if on == nil {
		on = func(Event) {}
	}
	for single := 0; r < len(p); {
		switch b := p[r]; {
		case b == cmdIAC:
			single = 0
			if len(p)-r < 3 { // the rule is a whole command
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
				if p[r+2] != cmdIAC { // alone
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
			n := d.clean(p[w:], p[r:], r-w)
			w += n
			r += n
		}
	}
	return w, r
}

// shortSub returns the data of a short subnegotiation that p begins with. It reports false if there is none, or if p
// does not hold all of it.
func shortSub(p []byte) (data []byte, ok bool) {
	if p[2] == cmdIAC {
		return nil, false
	}
	data, end := p[3:min(len(p), 3+64)], 0
	for end < len(data) && data[end] != cmdIAC { // most end at once: a search by package bytes costs more
		end++
	}
	if end+1 >= len(data) || data[end+1] != cmdSE {
		return nil, false
	}
	return data[:end:end], true
}

// run returns how many two-byte commands p begins with, and leaves them there without their IACs. A device may send
// nothing else for long, and then a call for each would be what decoding costs.
func run(p []byte) (n int) {
	for i := 0; i+1 < len(p) && p[i] == cmdIAC && p[i+1] < cmdSB; i += 2 {
		p[n] = p[i+1]
		n++
	}
	return n
}

const (
	stride = 64   // bytes looked at by eights, before the search is left to package bytes
	window = 1024 // bytes searched at a time: what is found behind a NUL is searched again
)

// clean moves data from src to dst, which begins gap bytes before it in the same array, up to the first byte that is
// more than data, and returns how many bytes that were.
func (d *Decoder) clean(dst, src []byte, gap int) int {
	n, found := d.cleanNear(dst, src[:min(len(src), stride)], gap)
	for !found && n < len(src) {
		end := min(len(src), n+window)
		if i := bytes.IndexByte(src[n:end], cmdIAC); i >= 0 {
			end, found = n+i, true
		}
		if !d.KeepNUL {
			if i := bytes.IndexByte(src[n:end], 0); i >= 0 {
				end, found = n+i, true
			}
		}
		if gap > 0 {
			copy(dst[n:], src[n:end])
		}
		n = end
	}
	return n
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// cleanNear is clean for a short src. It also reports whether it found a byte that is more than data.
func (d *Decoder) cleanNear(dst, src []byte, gap int) (n int, found bool) {
	nuls := uint64(highs)
	if d.KeepNUL {
		nuls = 0
	}
	for ; n+8 <= len(src); n += 8 {
		x := binary.LittleEndian.Uint64(src[n:])
		// The lowest bit set is that of the first byte which is 0 or 255; bits above it may be false.
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
	default:
		d.emit(Event{Kind: kindOf(b), Command: Command(b)})
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
	d.dropped, d.sub = true, d.sub[:0]
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
}

func (d *Decoder) emit(e Event) {
	e.At = d.total + int64(d.out)
	if d.OnEvent != nil {
		d.OnEvent(e)
	}
}
