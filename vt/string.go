package vt

// beginString starts a control string of kind k (ECMA-48 section 5.6).
func (p *Parser) beginString(k Kind) *Token {
	p.begin(inString)
	p.str, p.buf = k, p.buf[:0]
	return nil
}

// string reads the content of a string from the front of b, and its end.
func (p *Parser) string(b []byte) (*Token, []byte) {
	c := b[0]
	if p.state == inStringEsc {
		if c == '\\' {
			return p.endString(0), b[1:]
		}
		t := p.cancel()
		p.state = inEscape // c continues the new sequence
		return t, b
	}
	switch {
	case c == esc:
		p.state = inStringEsc
	case c == can || c == sub:
		return p.cancel(), b[1:]
	case c == bel:
		return p.endString(bel), b[1:]
	case c < 0x20 || c == del:
		if p.str != OSC { // for example, sixels may contain line ends; OSC ignores controls
			p.keep(b[:1])
		}
	default:
		n, _ := p.printable(b)
		p.keep(b[:n])
		return nil, b[n:]
	}
	return nil, b[1:]
}

// keep appends s to the string, up to MaxString bytes.
func (p *Parser) keep(s []byte) {
	limit := p.MaxString
	if limit == 0 {
		limit = defaultMaxString
	}
	if room := max(0, limit-len(p.buf)); len(s) > room {
		s, p.tok.Truncated = s[:room], true
	}
	p.buf = append(p.buf, s...)
}

// endString completes the string; its content becomes Token.Data. BEL may have ended it.
func (p *Parser) endString(final byte) *Token {
	p.tok.Data = p.buf
	return p.done(p.str, final)
}
