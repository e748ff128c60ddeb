package vt

import "unicode/utf8"

const (
	bel = 0x07
	bs  = 0x08
	ht  = 0x09
	lf  = 0x0a
	cr  = 0x0d
	can = 0x18
	sub = 0x1a
	esc = 0x1b
	del = 0x7f
	st  = 0x9c // String Terminator as a C1 control
)

// defaultMaxString is enough for titles, links, colour queries and notices. Images are
// dropped.
const defaultMaxString = 4 << 10

// A Parser splits the output of a terminal into tokens; the output may be cut anywhere. The
// zero value is ready.
//
// It follows the state machine of Paul Williams for DEC terminals
// (https://vt100.net/emu/dec_ansi_parser) with the changes for UTF-8 and xterm: a string ends
// with ESC \ or BEL (in xterm only an OSC ends with BEL, but no other string contains one),
// and any other ESC cancels it; a colon separates subparameters; a byte above 0x7f inside a
// sequence cancels it.
//
// Its memory does not depend on the input: parameters beyond 32, and bytes of a string beyond
// MaxString, are dropped.
type Parser struct {
	// C1 must be set for a stream that is not UTF-8: the bytes 0x80-0x9f are C1 controls, and
	// those above are text of one byte per character. Without it 0x9b is not a CSI, because that
	// byte occurs within UTF-8 characters.
	C1 bool
	// MaxString is the most bytes kept of a string; 0 means 4096, a negative number none.
	MaxString int

	state state
	str   Kind // the kind of string, in the states inString and inStringEsc
	bad   bool // the sequence is malformed; its final byte cancels it
	tok   Token
	buf   []byte // the string so far
	held  [utf8.UTFMax]byte
	nheld int // held[:nheld] is the beginning of a rune
}

type state uint8

const (
	ground state = iota
	inEscape
	inCSI
	inString
	inStringEsc // an ESC within a string: its end, if a backslash follows
)

// Next returns the next token from the front of b and the rest of b. If b ends within a
// token, Next returns nil, and the token continues with the b of the next call.
//
//	for t, b := p.Next(b); t != nil; t, b = p.Next(b) {
//
// A control character within a sequence is returned before the sequence, because a terminal
// executes it at once.
func (p *Parser) Next(b []byte) (*Token, []byte) {
	if p.Between() && !p.C1 && len(b) > 0 { // fast path: most output is whole tokens of these forms
		switch c := b[0]; {
		case c == esc:
			if n := p.tok.sequence(b); n > 0 {
				return &p.tok, b[n:]
			}
		case c < 0x20 || c == del:
			return p.control(c), b[1:]
		default:
			if n, ascii := Printable(b); ascii || n < len(b) {
				return p.run(b[:n], ascii), b[n:]
			}
		}
	}
	return p.next(b)
}

// next handles every form of token, cut anywhere.
func (p *Parser) next(b []byte) (*Token, []byte) {
	for len(b) > 0 {
		if p.nheld > 0 {
			t, rest := p.resume(b)
			if t != nil {
				return t, rest
			}
			b = rest
			continue
		}
		c := b[0]
		if p.C1 && 0x80 <= c && c <= 0x9f {
			if t, rest := p.c1(b); t != nil {
				return t, rest
			}
			b = b[1:]
			continue
		}
		switch p.state {
		case ground:
			switch {
			case c >= 0x20 && c != del:
				return p.text(b)
			case c != esc:
				return p.control(c), b[1:]
			default:
				p.begin(inEscape)
				b = b[1:]
			}
			continue
		case inString, inStringEsc:
			t, rest := p.string(b)
			if t != nil {
				return t, rest
			}
			b = rest
			continue
		}

		// Within ESC or CSI.
		switch {
		case c == esc:
			t := p.cancel()
			p.state = inEscape
			return t, b[1:]
		case c == can || c == sub:
			return p.cancel(), b[1:]
		case c < 0x20:
			return p.control(c), b[1:]
		case c == del:
		case c > del:
			return p.cancel(), b
		case p.state == inCSI:
			t, n := p.csi(b)
			if t != nil {
				return t, b[n:]
			}
			b = b[n:]
			continue
		default:
			if t := p.escape(c); t != nil {
				return t, b[1:]
			}
		}
		b = b[1:]
	}
	return nil, nil
}

// Flush ends the stream. It returns the incomplete token at its end: the beginning of a rune
// as Text, the beginning of a sequence as Canceled, or nil. Afterwards the Parser is ready
// for another stream.
func (p *Parser) Flush() *Token {
	switch {
	case p.nheld > 0:
		return p.release()
	case p.state != ground:
		return p.cancel()
	}
	return nil
}

// Between reports whether the next byte begins a token.
func (p *Parser) Between() bool { return p.state == ground && p.nheld == 0 }

// InString reports whether the input has ended within a control string, for example a title.
func (p *Parser) InString() bool { return p.state == inString || p.state == inStringEsc }

// begin enters state s with an empty token.
func (p *Parser) begin(s state) {
	p.state, p.bad = s, false
	p.tok.clear()
}

// done completes the token and returns to the ground state.
func (p *Parser) done(k Kind, final byte) *Token {
	p.state = ground
	p.tok.Kind, p.tok.Final = k, final
	p.tok.nparams = min(p.tok.nparams, maxParams)
	return &p.tok
}

// cancel ends a sequence without effect.
func (p *Parser) cancel() *Token {
	p.begin(ground)
	return p.done(Canceled, 0)
}

// escape handles the byte c after ESC: an intermediate byte, the start of a CSI or a string,
// or a final byte (ECMA-35 section 13).
func (p *Parser) escape(c byte) *Token {
	if c < 0x30 {
		if !p.tok.intermediate(c) {
			p.bad = true
		}
		return nil
	}
	if p.tok.Inter[0] == 0 {
		switch c {
		case '[':
			p.begin(inCSI)
			return nil
		case ']':
			return p.beginString(OSC)
		case 'P':
			return p.beginString(DCS)
		case 'X':
			return p.beginString(SOS)
		case '^':
			return p.beginString(PM)
		case '_':
			return p.beginString(APC)
		}
	}
	if p.bad {
		return p.cancel()
	}
	return p.done(Escape, c)
}

// csi reads bytes 0x20-0x7e from the front of b, up to the final byte of the sequence
// (ECMA-48 section 5.4), and returns how many it has read.
func (p *Parser) csi(b []byte) (*Token, int) {
	t := &p.tok
	for n := 0; n < len(b); n++ {
		switch c := b[n]; {
		case c < 0x20 || c >= del:
			return nil, n
		case c >= 0x40:
			if p.bad {
				return p.cancel(), n + 1
			}
			return p.done(CSI, c), n + 1
		case c < 0x30:
			p.bad = p.bad || !t.intermediate(c)
		case t.Inter[0] != 0:
			p.bad = true // a parameter after an intermediate byte
		case c <= '9':
			n += t.digits(b[n:]) - 1
		case c <= ';':
			t.separator(c)
		case t.nparams == 0 && t.Private == 0:
			t.Private = c
		default:
			p.bad = true
		}
	}
	return nil, len(b)
}

// c1 reads a C1 control from the front of b: one byte in place of ESC and the byte 0x40
// below it (ECMA-48 section 5.3). It returns nil if the byte begins a sequence.
func (p *Parser) c1(b []byte) (*Token, []byte) {
	c := b[0]
	switch {
	case c == st && (p.state == inString || p.state == inStringEsc):
		return p.endString(0), b[1:]
	case p.state != ground:
		return p.cancel(), b
	}
	p.begin(inEscape)
	return p.escape(c - 0x40), b[1:]
}
