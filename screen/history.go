package screen

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"
)

const (
	mostHistory      = 200      // rows
	mostHistoryBytes = 64 << 10 // of packed rows
	leastHistory     = 4 << 10  // bytes at first
	mostPackedRow    = 8 << 10  // the rest of a longer row is lost
	packWork         = 16       // of a row without text; see Screen.Work
)

// history is the rows that have left the top of the main screen, packed one after the other
// in a ring. A caller who wants more keeps the output itself.
//
// A packed row is a byte of flags, and if it is plain, its ASCII text. Else runs of cells
// with one style follow: the length of the text and two flags in two bytes, the style if there
// is one, and the text.
type history struct {
	ring  []byte
	next  int // where the next row goes in ring
	rows  [mostHistory]packed
	first int // index of the oldest row in rows
	count int
	total uint64 // rows ever pushed

	ignore int // how many of the next rows are not kept: Skip has not drawn them
}

type packed struct{ from, to int32 }

const (
	packedWrapped = 1 << 0
	packedPlain   = 1 << 1
	packedMark    = 4 // shift

	runStyled  = 1 << 0
	runCluster = 1 << 1 // the text is that of one cell
	runLength  = 2      // shift
)

// push adds a row, which has no blank cells at its end.
func (h *history) push(row []cell, in info, clusters *texts) {
	h.total++
	if h.ignore > 0 {
		h.ignore--
		return
	}
	h.keep(row, in, clusters)
}

// keep is push for a row that was counted before.
func (h *history) keep(row []cell, in info, clusters *texts) {
	need := 1 + 3*len(row)
	if h.next+need > len(h.ring) {
		h.makeRoom(need)
	}
	b := pack(h.ring[h.next:h.next], row, in, clusters)
	if h.next+len(b) > len(h.ring) { // more than expected: b has left the ring, and filled it to its end
		h.free(h.next, len(h.ring))
		h.makeRoom(len(b))
		copy(h.ring[h.next:], b)
	}
	h.free(h.next, h.next+len(b))
	if h.count == mostHistory {
		h.drop()
	}
	h.rows[(h.first+h.count)%mostHistory] = packed{int32(h.next), int32(h.next + len(b))}
	h.count++
	h.next += len(b)
}

// makeRoom grows the ring, or goes on at its beginning, so that n bytes fit at next.
func (h *history) makeRoom(n int) {
	if len(h.ring) < mostHistoryBytes {
		ring := make([]byte, 0, min(mostHistoryBytes, max(2*len(h.ring), leastHistory, 2*n)))
		if len(h.ring)+n <= cap(ring) {
			for i := range h.count {
				p := &h.rows[(h.first+i)%mostHistory]
				from := len(ring)
				ring = append(ring, h.ring[p.from:p.to]...)
				*p = packed{int32(from), int32(len(ring))}
			}
			h.next = len(ring)
			h.ring = ring[:cap(ring)]
			return
		}
	}
	h.free(h.next, len(h.ring))
	h.next = 0
}

// free drops the oldest rows as long as one of them is between from and to.
func (h *history) free(from, to int) {
	for h.count > 0 {
		p := h.rows[h.first]
		if int(p.to) <= from || int(p.from) >= to {
			return
		}
		h.drop()
	}
}

func (h *history) drop() {
	h.first = (h.first + 1) % mostHistory
	h.count--
}

func (h *history) clear() { h.first, h.count, h.next = 0, 0, 0 }

// at returns row i, the oldest is 0.
func (h *history) at(i int) []byte {
	p := h.rows[(h.first+i)%mostHistory]
	return h.ring[p.from:p.to]
}

// pack appends a row to dst.
func pack(dst []byte, row []cell, in info, clusters *texts) []byte {
	flags := byte(in.mark) << packedMark
	if in.wrapped {
		flags |= packedWrapped
	}
	for len(row) > 0 && row[len(row)-1] == (cell{}) {
		row = row[:len(row)-1]
	}
	var other uint64 // bits that plain ASCII does not have
	for i := range row {
		other |= row[i].lo&^0x7f | row[i].hi
	}
	if other != 0 {
		return packRuns(append(dst, flags), row, clusters)
	}
	dst = append(dst, flags|packedPlain)
	at := len(dst)
	dst = slices.Grow(dst, len(row))[:at+len(row)]
	text := dst[at:][:len(row)]
	for i := range row {
		text[i] = blankIfZero(row[i].lo)
	}
	return dst
}

// blankIfZero returns the ASCII character of lo.
func blankIfZero(lo uint64) byte {
	if lo&0x7f == 0 {
		return ' '
	}
	return byte(lo & 0x7f)
}

// packRuns appends the cells of a row that is not plain. It drops the links.
func packRuns(dst []byte, row []cell, clusters *texts) []byte {
	start := len(dst)
	for i := 0; i < len(row) && len(dst)-start < mostPackedRow; {
		c := row[i]
		if c.isTail() { // follows from the cell before it
			i++
			continue
		}
		head := len(dst)
		dst = append(dst, 0, 0)
		flags, style := 0, packedStyle(c)
		if style != (cell{}) {
			flags = runStyled
			dst = binary.LittleEndian.AppendUint16(dst, uint16(style.attr()))
			dst = binary.LittleEndian.AppendUint64(dst, style.hi)
		}
		text := len(dst)
		if c.char() >= firstCluster {
			flags |= runCluster
			dst = appendChar(dst, c, clusters.values)
			i++
		} else {
			dst, i = packText(dst, row, i)
		}
		binary.LittleEndian.PutUint16(dst[head:], uint16((len(dst)-text)<<runLength|flags))
	}
	return dst
}

// packText appends the text of the cells from i on that have one style, and returns the index
// of the cell after them.
func packText(dst []byte, row []cell, i int) ([]byte, int) {
	style, hi := row[i].lo&^charMask, row[i].hi
	for ; i < len(row); i++ {
		c := row[i]
		switch {
		case c.lo&^0x7f == style && c.hi == hi:
			dst = append(dst, blankIfZero(c.lo))
		case c.isTail():
		case c.lo&^charMask != style || c.hi != hi || c.char() >= firstCluster:
			return dst, i
		default:
			dst = utf8.AppendRune(dst, c.char())
		}
	}
	return dst, i
}

// packedStyle returns the style of c and whether it is wide.
func packedStyle(c cell) cell { return cell{c.lo & (1<<extra - 1) &^ charMask, c.hi} }

// unpack appends the cells of a packed row to dst. Texts of several characters become
// clusters of the store.
func unpack(dst []cell, b []byte, store func(text []byte, c cell) cell) ([]cell, info) {
	in := info{wrapped: b[0]&packedWrapped != 0, mark: Mark(b[0] >> packedMark)}
	if b[0]&packedPlain != 0 {
		for _, c := range b[1:] {
			dst = append(dst, cell{}.with(rune(c)))
		}
		return dst, in
	}
	for b = b[1:]; len(b) > 0; {
		head := binary.LittleEndian.Uint16(b)
		b = b[2:]
		var style cell
		if head&runStyled != 0 {
			style.lo = uint64(binary.LittleEndian.Uint16(b)) << shift
			style.hi = binary.LittleEndian.Uint64(b[2:])
			b = b[10:]
		}
		text := b[:head>>runLength]
		b = b[len(text):]
		if head&runCluster != 0 {
			dst = append(dst, store(text, style))
			dst = appendTail(dst, style)
			in.wide = in.wide || style.isWide()
			continue
		}
		for len(text) > 0 {
			r, n := utf8.DecodeRune(text)
			text = text[n:]
			dst = append(dst, style.with(r))
			dst = appendTail(dst, style)
		}
		in.wide = in.wide || style.isWide()
	}
	return dst, in
}

// appendTail appends the second column if style is that of a wide character.
func appendTail(dst []cell, style cell) []cell {
	if !style.isWide() {
		return dst
	}
	c := style.style()
	return append(dst, cell{c.lo | uint64(tail)<<shift, c.hi})
}
