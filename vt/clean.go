package vt

import "unicode/utf8"

// Sanitized counts what clean text has lost against the output it was made of.
type Sanitized struct {
	CSI       int // control sequences
	OSC       int // operating system commands: titles, links, clipboard
	DCS       int // device control strings
	Other     int // other escape sequences, SOS, PM and APC strings, and sequences broken off
	Controls  int // C0 and C1 control characters and DEL, but for HT, LF and CR
	Bidi      int // bidirectional controls
	ZeroWidth int // other characters that cannot be seen, tags included
	BadUTF8   int // bytes that are not UTF-8, each of which became U+FFFD
	Hidden    int // characters drawn under SGR 8, which a person does not see; they are kept
	Rewritten int // lines that were changed after they had been drawn, of which the last state is kept
}

// A Cleaner makes clean text of a terminal's output, as the package comment defines it. The zero value is ready.
type Cleaner struct {
	// Cols is the width of the terminal for which the output was made. Zero means unknown: a line never wraps.
	// Set it before the first call; when the terminal is resized, set it after an Append that ended in a line feed.
	Cols int

	parser  Parser
	line    line
	count   Sanitized
	conceal bool
}

// Append appends to dst the lines that src finishes. The unfinished one is kept back, at most 4 KiB of it.
func (c *Cleaner) Append(dst, src []byte) []byte {
	l := &c.line
	l.cols, l.out = c.Cols, dst
	c.parser.MaxString = -1
	for len(src) > 0 {
		if src = c.quick(src); len(src) == 0 {
			break
		}
		t, rest := c.parser.Next(src)
		l.pay(len(src) - len(rest))
		if src = rest; t != nil {
			c.apply(t)
		}
	}
	dst, l.out = l.out, nil
	return dst
}

// quick does what Append does, without the states of the Parser, as long as whole tokens of the usual forms follow each
// other. It returns the rest of src.
func (c *Cleaner) quick(src []byte) []byte {
	if !c.parser.between() {
		return src
	}
	for len(src) > 0 && !c.conceal {
		var n int
		switch b := src[0]; {
		case b >= 0x20 && b != del:
			var ascii bool
			if n, ascii = printable(src); ascii {
				c.line.pay(n)
				if !c.line.laid || !c.line.add(src[:n]) {
					c.line.write(src[:n], true)
				}
				break
			}
			if n == len(src) { // perhaps with a part of a rune at its end
				return src
			}
			c.line.pay(n)
			c.print(src[:n])
		case b == esc:
			if n = colour(src); n > 0 {
				c.line.pay(n)
				c.count.CSI++
				break
			}
			t := &c.parser.tok
			if n = t.sequence(src); n == 0 {
				return src
			}
			c.line.pay(n)
			if t.Kind == CSI {
				c.count.CSI++
				c.csi(t)
				break
			}
			c.apply(t)
		default:
			n = 1
			c.line.pay(n)
			c.control(b)
		}
		src = src[n:]
	}
	return src
}

// Flush says that the stream has ended, and appends the unfinished line to dst. The Cleaner is then as new, but for
// the counts.
func (c *Cleaner) Flush(dst []byte) []byte {
	if t := c.parser.Flush(); t != nil && t.Kind == Text { // a sequence without an end is no sequence yet
		dst = c.bad(dst, t)
	}
	c.line.out = dst
	c.line.emit()
	c.line.reset()
	dst = c.line.out
	*c = Cleaner{Cols: c.Cols, count: c.Sanitized()}
	return dst
}

func (c *Cleaner) bad(dst []byte, t *Token) []byte {
	c.line.out = dst
	c.print(t.Data)
	return c.line.out
}

// Skip reads a part of the stream whose text the caller has already, so that Append goes on from there. If the
// output then changes the unfinished line that it left, Append gives that line once more, from its beginning.
func (c *Cleaner) Skip(src []byte) {
	before := c.Sanitized()
	c.Append(nil, src)
	c.count = before
	c.line.rewritten, c.line.changed = 0, false
	c.line.seen, _ = c.line.appendTo(c.line.seen[:0])
}

// Line returns the unfinished line as a person sees it now, and the index in it of the cursor. Text to the right of
// the cursor is a prompt of its own (zsh's RPROMPT), a suggestion (fish), or the rest of a line that is being edited.
func (c *Cleaner) Line() (text string, cursor int) {
	l := c.line // a copy, because laying it out must not show in what becomes of it
	l.cols, l.expand = c.Cols, true
	if !l.laid {
		l.cells, l.clusters = nil, nil
		l.lay()
	}
	b, cursor := l.appendTo(nil)
	return string(b), cursor
}

// Sanitized returns the counts since the beginning of the stream, without what was skipped.
func (c *Cleaner) Sanitized() Sanitized {
	s := c.count
	s.Rewritten += c.line.rewritten
	return s
}

// CleanFrom returns the clean text of data, a part of a stream, with the unfinished line at its end. context is what
// came right before data, as much as the caller has, up to 4 KiB or so: a sequence, a character or a concealed text
// that begins there is understood, and a line that begins there and is changed in data is given again as a whole.
// A sequence that is cut by the end of data is left to the next read, whose context it is then part of.
func CleanFrom(context, data []byte) (text []byte, s Sanitized) {
	var c Cleaner
	return c.From(context, data)
}

// From is CleanFrom for a terminal of known width. The Cleaner must be new.
func (c *Cleaner) From(context, data []byte) (text []byte, s Sanitized) {
	c.Skip(context)
	text = c.Append(make([]byte, 0, len(data)), data)
	text = c.Flush(text)
	return text, c.Sanitized()
}

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

func (c *Cleaner) draw(s []byte) {
	if len(s) == 0 {
		return
	}
	if c.conceal {
		c.count.Hidden += utf8.RuneCount(s)
	}
	c.line.write(s, false)
}
