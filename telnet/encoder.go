package telnet

import "bytes"

// An encoding is the present encoding of data to the server.
type encoding struct {
	enter string // replaces a CR without LF
	raw   bool   // the peer does not speak Telnet: IAC is not doubled
	exact bool   // a CR before LF is data like any other, and no line end
	nop   bool   // a NUL at the end is followed by NOP: busybox's telnetd drops a NUL at the end of a read
}

// plain reports whether p is its own encoding.
func (c encoding) plain(p []byte) bool {
	return (c.raw || bytes.IndexByte(p, cmdIAC) < 0) && (c.enter == "\r" || bytes.IndexByte(p, '\r') < 0) && !c.guarded(p)
}

// guarded reports whether a NOP follows p.
func (c encoding) guarded(p []byte) bool { return c.nop && bytes.HasSuffix(p, []byte{0}) }

// append appends the encoding of p to dst.
func (c encoding) append(dst, p []byte) []byte {
	guarded := c.guarded(p)
	for len(p) > 0 {
		n := c.clean(p)
		dst = append(dst, p[:n]...)
		if n == len(p) {
			break
		}
		dst = append(dst, c.special(p[n:])...)
		p = p[n+1:]
	}
	if guarded {
		dst = append(dst, cmdIAC, cmdNOP)
	}
	return dst
}

// clean returns the number of bytes of p before the first CR or IAC.
func (c encoding) clean(p []byte) int {
	if i := bytes.IndexByte(p, cmdIAC); i >= 0 {
		p = p[:i]
	}
	if i := bytes.IndexByte(p, '\r'); i >= 0 {
		return i
	}
	return len(p)
}

// special returns the encoding of the first byte of p, which is CR or IAC.
func (c encoding) special(p []byte) string {
	switch {
	case p[0] == '\r' && len(p) > 1 && p[1] == '\n' && !c.exact:
		return "\r"
	case p[0] == '\r':
		return c.enter
	case c.raw:
		return "\xff"
	default:
		return "\xff\xff"
	}
}

// taken returns how many bytes of p are covered when sent bytes of its encoding were written,
// and how many bytes the encoding of the last of them still lacks, with a NOP after it.
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
	if n == len(p) && c.guarded(p) {
		return n, 2 - sent
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
