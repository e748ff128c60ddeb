package forms

import (
	"encoding/binary"
	"math/bits"
	"sort"
)

// maxGap is how much a terminal or a program puts between two characters of a form where a line wraps, in bytes.
const maxGap = 64

// barrier stands for a longer gap. No form has it.
const barrier = 0

// A text is output without the bytes that wrap lines and set how characters are drawn, so that a form which was wrapped
// is in one piece. The zero value is empty.
type text struct {
	chars []byte // and some bytes of padding behind them
	runs  []run
}

// A run is a part of the output without gaps.
type run struct{ char, at int } // the index of its first byte in text.chars, and in the output

// padding is how many zero bytes may be read behind the characters.
const padding = 8

// join makes t the text of the output p.
func (t *text) join(p []byte) {
	if need := len(p) + padding; cap(t.chars) < need {
		clear(t.chars[:cap(t.chars)])
		t.chars = make([]byte, 0, max(need, 2*cap(t.chars)))
	}
	chars, runs := t.chars[:cap(t.chars)], t.runs[:0]
	n, gap := 0, 0
	for at := 0; at < len(p); {
		c := p[at]
		if c == '\r' && at+1 < len(p) && p[at+1] == '\n' { // most gaps
			at, gap = at+2, gap+2
			continue
		}
		end := at
		if c < ' ' { // a gap, or another control character
			if size := gapLen(p[at:]); size > 0 {
				if gap == 0 && n > 0 && chars[n-1] == ' ' && lineEditor(p[at:]) {
					n--
					gap++
				}
				gap += size
				at += size
				continue
			}
			end++
		}
		if gap > maxGap && n > 0 {
			runs = append(runs, run{n, at})
			chars[n] = barrier
			n++
		}
		if gap > 0 || n == 0 {
			runs = append(runs, run{n, at})
		}
		gap = 0
		end = control(p, end)
		n += copy(chars[n:], p[at:end])
		at = end
	}
	clear(chars[n:min(n+padding, len(chars))])
	t.chars, t.runs = chars[:n], runs
}

// at returns the index in the output of the character i.
func (t *text) at(i int) int {
	r := t.runs[sort.Search(len(t.runs), func(k int) bool { return t.runs[k].char > i })-1]
	return r.at + i - r.char
}

// index returns how many characters come before the place at in the output.
func (t *text) index(at int) int {
	k := sort.Search(len(t.runs), func(k int) bool { return t.runs[k].at > at }) - 1
	if k < 0 {
		return 0
	}
	end := len(t.chars)
	if k+1 < len(t.runs) {
		end = t.runs[k+1].char
	}
	return min(end, t.runs[k].char+at-t.runs[k].at)
}

// before returns the character of the output p that is right before the place at, or 0.
func (t *text) before(p []byte, at int) byte {
	if i := t.index(at); i > 0 && t.at(i-1) == at-1 {
		return p[at-1]
	}
	return 0
}

// wipe overwrites the characters.
func (t *text) wipe() { clear(t.chars[:cap(t.chars)]) }

// control returns the index of the first control character in p from at on, or len(p).
func control(p []byte, at int) int {
	const low, high = 0x2020202020202020, 0x8080808080808080
	for ; at+32 <= len(p); at += 32 {
		q := p[at : at+32 : at+32]
		a, b := binary.LittleEndian.Uint64(q), binary.LittleEndian.Uint64(q[8:])
		c, d := binary.LittleEndian.Uint64(q[16:]), binary.LittleEndian.Uint64(q[24:])
		if ((a-low)&^a|(b-low)&^b|(c-low)&^c|(d-low)&^d)&high != 0 {
			break
		}
	}
	for ; at+8 <= len(p); at += 8 {
		w := binary.LittleEndian.Uint64(p[at:])
		if found := (w - low) &^ w & high; found != 0 { // the lowest bit is that of a byte below 0x20
			return at + bits.TrailingZeros64(found)/8
		}
	}
	for at < len(p) && p[at] >= ' ' {
		at++
	}
	return at
}

// lineEditor reports whether p, which comes after a blank, is what a line editor writes with that blank to have a
// terminal wrap the line.
func lineEditor(p []byte) bool {
	return p[0] == '\b' || p[0] == '\r' && (len(p) == 1 || p[1] != '\n')
}

// gapLen returns the length of what p begins with, if a terminal puts that between the characters of a line that wraps,
// or a program sets how the next is drawn: 0 if not. A control sequence (ECMA-48 section 5.4) that is cut at the end of p
// is one, too.
func gapLen(p []byte) int {
	switch p[0] {
	case '\r', '\n', '\b', 0, 0x0e, 0x0f:
		return 1
	case '\x1b':
	default:
		return 0
	}
	switch {
	case len(p) == 1:
		return 1
	case p[1] == '(' || p[1] == ')': // the character set
		return min(3, len(p))
	case p[1] != '[':
		return 1
	}
	for i, c := range p[2:min(len(p), maxGap)] {
		switch {
		case c >= 0x40 && c <= 0x7e:
			return i + 3
		case c < 0x20 || c > 0x7e:
			return i + 2
		}
	}
	return min(len(p), maxGap)
}
