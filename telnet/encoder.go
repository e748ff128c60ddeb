package telnet

import "bytes"

// An encoding is how data is written at the moment.
type encoding struct {
	enter string // what a CR without LF becomes
	raw   bool   // the far side speaks no Telnet: IAC is not doubled
}

// plain reports whether p is written as it is.
func (c encoding) plain(p []byte) bool {
	return (c.raw || bytes.IndexByte(p, cmdIAC) < 0) && (c.enter == "\r" || bytes.IndexByte(p, '\r') < 0)
}

// append appends p, encoded.
func (c encoding) append(dst, p []byte) []byte {
	for len(p) > 0 {
		n := c.clean(p)
		dst = append(dst, p[:n]...)
		if n == len(p) {
			break
		}
		dst = append(dst, c.special(p[n:])...)
		p = p[n+1:]
	}
	return dst
}

// clean returns how many bytes of p stand before the next CR or IAC.
func (c encoding) clean(p []byte) int {
	if i := bytes.IndexByte(p, cmdIAC); i >= 0 {
		p = p[:i]
	}
	if i := bytes.IndexByte(p, '\r'); i >= 0 {
		return i
	}
	return len(p)
}

// special returns what the first byte of p, a CR or IAC, becomes.
func (c encoding) special(p []byte) string {
	switch {
	case p[0] == '\r' && len(p) > 1 && p[1] == '\n':
		return "\r"
	case p[0] == '\r':
		return c.enter
	case c.raw:
		return "\xff"
	default:
		return "\xff\xff"
	}
}

// taken returns how many bytes of p are on their way when sent bytes of its encoding are, and how many bytes the last
// of them still lacks.
func (c encoding) taken(p []byte, sent int) (n, lacking int) {
	for sent > 0 && n < len(p) {
		if clean := c.clean(p[n:]); clean > 0 {
			clean = min(clean, sent)
			n += clean
			sent -= clean
			continue
		}
		sent -= len(c.special(p[n:]))
		n++
	}
	return n, max(-sent, 0)
}

// appendSub appends a subnegotiation (RFC 855), with every IAC in it doubled.
func appendSub(dst []byte, o Option, data ...byte) []byte {
	dst = append(dst, cmdIAC, cmdSB, byte(o))
	for _, b := range data {
		if b == cmdIAC {
			dst = append(dst, cmdIAC)
		}
		dst = append(dst, b)
	}
	return append(dst, cmdIAC, cmdSE)
}
