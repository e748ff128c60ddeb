package lane

import (
	"bytes"
	"slices"
	"strings"
)

// A pageCut removes the line of a pager after its page was turned, and the sequence that erases it, from the output.
// The zero value passes everything on.
type pageCut struct {
	on     bool
	wiping bool   // a page was turned: line is the output that erases the pager, so far
	before string // the text on the line before the pager
	over   bool   // further output overwrites the pager, and may erase the rest of it behind itself
	line   []byte // the unfinished last line, held back: it may turn out to be a pager's
}

// strip takes output, and returns the part that may be passed on. Line ends are LF.
func (c *pageCut) strip(p []byte) []byte {
	if !c.on {
		return p
	}
	c.line = append(c.line, p...)
	if c.wiping {
		n, blank, more := wiped(c.line)
		if more && len(c.line) < lineBack {
			return nil
		}
		c.over = n > 0 && !blank
		c.line = c.unwiped(n)
	}
	end := bytes.LastIndexByte(c.line, '\n') + 1
	if len(c.line)-end > lineBack { // too long for a pager's
		end = len(c.line)
	}
	out := bytes.Clone(c.line[:end])
	c.line = append(c.line[:0], c.line[end:]...)
	if c.over && end > 0 {
		c.over = false
		first, rest, _ := bytes.Cut(out, []byte("\n"))
		if text, ok := bytes.CutSuffix(first, []byte("\x1b[K")); ok { // EL
			out = slices.Concat(text, []byte("\n"), rest)
		}
	}
	return out
}

// turn drops the line held back, which is the pager's, except for the text before the pager.
func (c *pageCut) turn(before string) { c.wiping, c.before, c.line = true, before, nil }

// unwiped returns the line without the n bytes that erase the pager, which are all there.
func (c *pageCut) unwiped(n int) []byte {
	if c.before != "" && n > 0 && c.line[n-1] == '\n' { // it ends that line, too
		n--
	}
	line := append([]byte(c.before), c.line[n:]...)
	c.wiping, c.before = false, ""
	return line
}

// flush returns the bytes held back.
func (c *pageCut) flush() []byte {
	out := c.line
	if c.wiping {
		n, _, _ := wiped(out)
		out = c.unwiped(n)
	}
	c.over, c.line = false, nil
	return out
}

// stop ends the holding back.
func (c *pageCut) stop() []byte {
	c.on = false
	return c.flush()
}

// wiped returns the length n of the erasure with which p begins: the bytes by which a pager removes its line after a
// key, which are backspaces, carriage returns, blanks and control sequences. Blanks at the end of these belong to the
// next line of output. blank says that the pager's line is gone from the screen, more that the erasure may continue
// after p.
//
// An LF after an erasure is a blank line of the output. Without an erasure it ends the pager's own line.
func wiped(p []byte) (n int, blank, more bool) {
	drawn := false // blanks, after which nothing has moved back
	for i := 0; i < len(p); {
		switch p[i] {
		case '\b', '\r':
			i++
			n, blank, drawn = i, blank || drawn, false
		case ' ':
			drawn = true
			i++
		case 0, '\a':
			i++
		case '\x1b':
			size, final := controlSequence(p[i:])
			switch {
			case size == 0:
				return n, blank, true
			case strings.IndexByte("KJPX", final) >= 0: // EL, ED, DCH, ECH
				blank = true
				n = i + size
			case strings.IndexByte("DG", final) >= 0: // CUB, CHA
				n, blank, drawn = i+size, blank || drawn, false
			case final != 'm': // SGR; it may already be the next line's
				return n, blank, false
			}
			i += size
		case '\n':
			if !blank && !drawn {
				n = i + 1
			}
			return n, true, false
		default:
			return n, blank, false
		}
	}
	return n, blank, true
}

// controlSequence returns the length and the final byte of the control sequence (ECMA-48, 5.4) at the start of p. p
// must begin with ESC. The length is 0 if p ends before the sequence does; the final byte is 0 if the sequence has
// none.
func controlSequence(p []byte) (size int, final byte) {
	for i, c := range p[1:] {
		switch {
		case i == 0 && c != '[', c < ' ', c > '~':
			return 1, 0
		case i > 0 && c >= '@':
			return i + 2, c
		}
	}
	return 0, 0
}
