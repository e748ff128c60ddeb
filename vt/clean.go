package vt

import "unicode/utf8"

// Sanitized counts the sequences and characters that clean text has lost.
type Sanitized struct {
	CSI       int // control sequences
	OSC       int // operating system commands: titles, links, clipboard
	DCS       int // device control strings
	Other     int // other escape sequences, SOS, PM and APC strings, and interrupted sequences
	Controls  int // C0 and C1 control characters and DEL, except HT, LF and CR
	Bidi      int // bidirectional controls
	ZeroWidth int // other invisible characters, including tags
	BadUTF8   int // bytes that are not UTF-8; each became U+FFFD
	Hidden    int // characters drawn under SGR 8, invisible on a screen but kept in the text
	Rewritten int // lines changed after they were drawn; the text has their last state

	Escapes int // ESC characters that became \x1b, of WithoutSGR alone
}

// Plus returns the sums of s and t.
func (s Sanitized) Plus(t Sanitized) Sanitized {
	return Sanitized{
		CSI: s.CSI + t.CSI, OSC: s.OSC + t.OSC, DCS: s.DCS + t.DCS, Other: s.Other + t.Other,
		Controls: s.Controls + t.Controls, Bidi: s.Bidi + t.Bidi, ZeroWidth: s.ZeroWidth + t.ZeroWidth,
		BadUTF8: s.BadUTF8 + t.BadUTF8, Hidden: s.Hidden + t.Hidden, Rewritten: s.Rewritten + t.Rewritten,
		Escapes: s.Escapes + t.Escapes,
	}
}

// A Cleaner converts a terminal's output to clean text, as the package comment defines it.
// The zero value is ready.
type Cleaner struct {
	// Cols is the width in columns of the terminal that the output was written for; 0 means
	// unknown, and then a line never wraps. Set it before the first call. After a resize, set it
	// when an Append has ended in a line feed.
	Cols int

	parser  Parser
	line    line
	count   Sanitized
	conceal bool
}

// Append appends the lines that src completes to dst. It keeps the unfinished line back, at
// most 4 KiB of it.
func (c *Cleaner) Append(dst, src []byte) []byte {
	l := &c.line
	l.cols, l.out = c.Cols, dst
	c.parser.MaxString = -1
	for len(src) > 0 {
		if src = c.quick(src); len(src) == 0 {
			break
		}
		t, rest := c.parser.Next(src)
		l.spare.pay(len(src) - len(rest))
		if src = rest; t != nil {
			c.apply(t)
		}
	}
	dst, l.out = l.out, nil
	return dst
}

// quick is the fast path of Append. It handles whole tokens of the usual forms without the
// states of the Parser, and returns the rest of src at the first other byte.
func (c *Cleaner) quick(src []byte) []byte {
	if !c.parser.Between() {
		return src
	}
	for len(src) > 0 && !c.conceal {
		var n int
		switch b := src[0]; {
		case b >= 0x20 && b != del:
			var ascii bool
			if n, ascii = Printable(src); ascii {
				c.line.spare.pay(n)
				if !c.line.laid || !c.line.add(src[:n]) {
					c.line.write(src[:n], true)
				}
				break
			}
			if n == len(src) { // the end of src may cut a rune
				return src
			}
			c.line.spare.pay(n)
			c.print(src[:n])
		case b == esc:
			if n = colour(src); n > 0 {
				c.line.spare.pay(n)
				c.count.CSI++
				break
			}
			t := &c.parser.tok
			if n = t.sequence(src); n == 0 {
				return src
			}
			c.line.spare.pay(n)
			if t.Kind == CSI {
				c.count.CSI++
				c.csi(t)
				break
			}
			c.apply(t)
		default:
			n = 1
			c.line.spare.pay(n)
			c.control(b)
		}
		src = src[n:]
	}
	return src
}

// Flush ends the stream and appends the unfinished line to dst. Afterwards the Cleaner is
// ready for another stream; the counts stay.
func (c *Cleaner) Flush(dst []byte) []byte {
	if t := c.parser.Flush(); t != nil && t.Kind == Text { // an unfinished sequence is dropped
		dst = c.bad(dst, t)
	}
	c.line.out = dst
	c.line.emit()
	c.line.reset()
	dst = c.line.out
	*c = Cleaner{Cols: c.Cols, count: c.Sanitized()}
	return dst
}

// bad draws a rune that the end of the stream has cut, as U+FFFD.
func (c *Cleaner) bad(dst []byte, t *Token) []byte {
	c.line.out = dst
	c.print(t.Data)
	return c.line.out
}

// Skip reads a part of the stream that the caller already has as text, so that Append
// continues after it. If later output changes the unfinished line, Append returns that line
// again, from its beginning.
func (c *Cleaner) Skip(src []byte) {
	before := c.Sanitized()
	c.Append(nil, src)
	c.count = before
	c.line.rewritten, c.line.changed = 0, false
	c.line.seen, _ = c.line.appendTo(c.line.seen[:0])
}

// Line returns the unfinished line as a screen shows it now, and the byte index of the cursor
// in it. Text to the right of the cursor is, for example, a right prompt (zsh's RPROMPT), a
// suggestion (fish), or the rest of a line that is being edited.
func (c *Cleaner) Line() (text string, cursor int) {
	l := c.line // a copy: the layout must not affect later output
	l.cols, l.expand = c.Cols, true
	if !l.laid {
		l.cells, l.clusters = nil, nil
		l.lay()
	}
	b, cursor := l.appendTo(nil)
	return string(b), cursor
}

// Sanitized returns the counts since the beginning of the stream, without the skipped parts.
func (c *Cleaner) Sanitized() Sanitized {
	s := c.count
	s.Rewritten += c.line.rewritten
	return s
}

// CleanFrom returns the clean text of data, a part of a stream, including the unfinished line
// at its end. context is the output directly before data, as much as the caller has; 4 KiB
// are enough. It completes a sequence, a character or a concealed text that begins in context
// and ends in data. A line that begins in context and changes in data is returned as a whole.
// A sequence cut by the end of data is left for the next call, which should get data as part
// of its context.
func CleanFrom(context, data []byte) (text []byte, s Sanitized) {
	var c Cleaner
	return c.From(context, data)
}

// From is CleanFrom for a terminal of known width. The Cleaner must not have been used
// before.
func (c *Cleaner) From(context, data []byte) (text []byte, s Sanitized) {
	c.Skip(context)
	text = c.Append(make([]byte, 0, len(data)), data)
	text = c.Flush(text)
	return text, c.Sanitized()
}

// apply counts one token and applies its effect to the line.
func (c *Cleaner) apply(t *Token) {
	switch t.Kind {
	case Text:
		c.print(t.Data)
	case Control:
		c.control(t.Final)
	case CSI:
		c.count.CSI++
		c.csi(t)
	case Escape:
		c.count.Other++
		c.escape(t)
	case OSC:
		c.count.OSC++
	case DCS:
		c.count.DCS++
	default:
		c.count.Other++
	}
}

var replacement = []byte("\uFFFD")

// print draws the visible characters of s and counts the others.
func (c *Cleaner) print(s []byte) {
	start := 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			i++
			continue
		}
		if visible3(s[i:]) {
			i += 3
			continue
		}
		_, size, class := classify(s[i:])
		if class == visible {
			i += size
			continue
		}
		c.draw(s[start:i])
		i += size
		start = i
		switch class {
		case badUTF8:
			c.count.BadUTF8++
			c.draw(replacement)
		case control:
			c.count.Controls++
		case bidi:
			c.count.Bidi++
		case zeroWidth:
			c.count.ZeroWidth++
		}
	}
	c.draw(s[start:])
}

// draw writes visible characters to the line. Concealed ones are written too, because hidden
// text must not be hidden from a reader of clean text.
func (c *Cleaner) draw(s []byte) {
	if len(s) == 0 {
		return
	}
	if c.conceal {
		c.count.Hidden += utf8.RuneCount(s)
	}
	c.line.write(s, false)
}
