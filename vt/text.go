package vt

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// text reads a run of text from the front of b. It keeps back a rune that the end of b cuts.
func (p *Parser) text(b []byte) (*Token, []byte) {
	n, ascii := p.printable(b)
	whole := n
	if !ascii && n == len(b) && !p.C1 {
		whole -= PartialRune(b)
		p.nheld = copy(p.held[:], b[whole:])
		if whole == 0 {
			return nil, nil
		}
	}
	return p.run(b[:whole], ascii), b[n:]
}

// run returns a Text token for s.
func (p *Parser) run(s []byte, ascii bool) *Token {
	t := &p.tok
	t.Kind, t.Data, t.ASCII = Text, s, ascii
	return t
}

func (p *Parser) control(c byte) *Token {
	// Within a sequence p.tok holds the sequence so far; only Kind and Final are still free.
	p.tok.Kind, p.tok.Final = Control, c
	return &p.tok
}

// resume continues the rune that begins with the bytes in held.
func (p *Parser) resume(b []byte) (*Token, []byte) {
	held := append(p.held[:p.nheld], b[0])
	switch {
	case !utf8.FullRune(held):
		p.nheld++
		return nil, b[1:]
	case utf8.Valid(held):
		p.nheld++
		return p.release(), b[1:]
	}
	return p.release(), b // the next byte is not part of it
}

// release returns the held bytes as Text.
func (p *Parser) release() *Token {
	s := p.held[:p.nheld]
	p.nheld = 0
	return p.run(s, false)
}

// PartialRune returns the number of bytes of a rune that the end of b cuts, or 0.
func PartialRune(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// printable returns the length of the text at the front of b, and whether it is ASCII only.
func (p *Parser) printable(b []byte) (n int, ascii bool) {
	if !p.C1 {
		return Printable(b)
	}
	ascii = true
	for n < len(b) && b[n] >= 0x20 && b[n] != del && (b[n] < 0x80 || b[n] > 0x9f) {
		ascii = ascii && b[n] < 0x80
		n++
	}
	return n, ascii
}

// leadingASCII returns how many bytes at the front of b are below 0x80.
func leadingASCII(b []byte) (n int) {
	for ; len(b)-n >= 8; n += 8 {
		if high := binary.LittleEndian.Uint64(b[n:]) & every80; high != 0 {
			return n + bits.TrailingZeros64(high)/8
		}
	}
	for n < len(b) && b[n] < utf8.RuneSelf {
		n++
	}
	return n
}

const (
	every01 = 0x0101010101010101
	every0f = 0x0f0f0f0f0f0f0f0f
	every10 = 0x1010101010101010
	every40 = 0x4040404040404040
	every80 = 0x8080808080808080
)

// Printable returns the number of bytes at the front of b before the first C0 control or DEL,
// and whether all of them are below 0x7f. It tests eight bytes at a time.
func Printable(b []byte) (n int, ascii bool) {
	var high uint64
	for ; n+8 <= len(b); n += 8 {
		w := binary.LittleEndian.Uint64(b[n:])
		low := (w - 0x20*every01) &^ w // the top bit of each byte below 0x20, and perhaps of some above it
		dels := w ^ del*every01
		dels = (dels - every01) &^ dels
		if stop := (low | dels) & every80; stop != 0 {
			high |= w & every80 & (stop&-stop - 1) // only the bytes before the first stop
			return n + bits.TrailingZeros64(stop)/8, high == 0
		}
		high |= w & every80
	}
	for ; n < len(b); n++ {
		c := b[n]
		if c < 0x20 || c == del {
			break
		}
		high |= uint64(c & 0x80)
	}
	return n, high == 0
}
