package vt

func (p *Parser) beginString(k Kind) *Token {
	p.begin(inString)
	p.str, p.buf = k, p.buf[:0]
	return nil
}

// string takes the content of a string from the front of b, and its end.
func (p *Parser) string(b []byte) (*Token, []byte) {
	c := b[0]
	if p.state == inStringEsc {
		if c == '\\' {
			return p.endString(), b[1:]
		}
		t := p.cancel()
		p.state = inEscape // of which c is the continuation
		return t, b
	}
	switch {
	case c == esc:
		p.state = inStringEsc
	case c == can || c == sub:
		return p.cancel(), b[1:]
	case c == bel:
		return p.endString(), b[1:]
	case c < 0x20 || c == del:
		if p.str != OSC { // sixels and the like may be broken into lines; OSC ignores controls
			p.keep(b[:1])
		}
	default:
		n, _ := p.printable(b)
		p.keep(b[:n])
		return nil, b[n:]
	}
	return nil, b[1:]
}

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

func (p *Parser) endString() *Token {
	p.tok.Data = p.buf
	return p.done(p.str, 0)
}
