package vt

import "strconv"

// A Filter passes on the sequences that draw, and drops those with other effects on the
// terminal of a person: titles and the clipboard (OSC), device control strings, questions
// that the terminal answers, printing, resizing, locking the keyboard, changes to the codes
// of keys and mouse, erasing the scrollback, and invisible characters that can deceive. It
// shows concealed text. It drops all sequences that it does not know. The zero value is
// ready.
//
//	var f vt.Filter
//	for chunk := range output { // cut anywhere
//		terminal.Write(f.Append(nil, chunk))
//	}
//	terminal.Write(f.Restore(nil))
//
// The Filter formats each sequence again from its parsed parts and never copies it, so no
// terminal can interpret it differently.
type Filter struct {
	// Input also passes on the sequences that serve typing: the modes of keys, mouse and
	// pasting, the shape of the cursor, and the bell.
	Input bool

	// Questions passes on the questions with an answer that the output cannot choose, except for numbers: DSR, CPR,
	// DA, DECRQM, DECRQSS, XTVERSION, the size in characters, two colours and the flags of kitty's keyboard. Set it
	// for live output only; a replay must not be answered again.
	Questions bool

	parser  Parser
	dropped int
	drawn   drawn
}

// drawn is the state that the output has left in the terminal.
type drawn struct {
	alt, hidden, insert, origin, noWrap, region bool

	charsets [2]byte // G0 and G1; 0 for ASCII
	shifted  bool    // G1 is active
	keypad   bool
	style    bool   // of the cursor
	modes    []int  // other modes that are on, with Filter.Input
	sgr      []byte // the SGR sequences since the last reset
}

const (
	maxSGR    = 256  // most bytes of drawn.sgr; a longer one only loses colours in Resume
	maxRepeat = 1024 // for REP; more than the width of any terminal

	maxQuestion = 8 // most bytes of a string that is a question, and one more
)

// Append appends the drawing part of src to dst. It keeps an incomplete sequence or character
// back.
func (f *Filter) Append(dst, src []byte) []byte {
	f.parser.MaxString = maxQuestion
	for {
		var t *Token
		if t, src = f.parser.Next(src); t == nil {
			return dst
		}
		switch t.Kind {
		case Text:
			dst = f.text(dst, t)
		case Control:
			dst = f.control(dst, t.Final)
		case Escape:
			dst = f.escape(dst, t)
		case CSI:
			dst = f.csi(dst, t)
		case OSC:
			dst = f.question(dst, "\x1b]", t, asksColor)
		case DCS:
			dst = f.question(dst, "\x1bP", t, asksSetting)
		default:
			f.dropped++
		}
	}
}

// question passes on a string that is one of the fixed questions.
func (f *Filter) question(dst []byte, begin string, t *Token, asks func([]byte) bool) []byte {
	if !f.Questions || t.Truncated || !asks(t.Data) {
		f.dropped++
		return dst
	}
	dst = append(append(dst, begin...), t.Data...)
	if t.Kind == OSC && t.Final == bel && f.Input { // a program that ends it so may wait for the same end
		return append(dst, bel)
	}
	return append(dst, "\x1b\\"...)
}

// Dropped returns the number of sequences and characters dropped so far.
func (f *Filter) Dropped() int { return f.dropped }

// AltScreen reports whether the alternate screen is on.
func (f *Filter) AltScreen() bool { return f.drawn.alt }

// text passes on visible characters.
func (f *Filter) text(dst []byte, t *Token) []byte {
	if t.ASCII {
		return append(dst, t.Data...)
	}
	for b := t.Data; len(b) > 0; {
		_, size, class := classify(b)
		switch {
		case class == badUTF8:
			f.dropped++
			dst = append(dst, replacement...)
		case class != visible:
			f.dropped++
		default:
			dst = append(dst, b[:size]...)
		}
		b = b[size:]
	}
	return dst
}

// The C0 controls that draw, in addition to those of the Cleaner.
const (
	vtab = 0x0b
	ff   = 0x0c
	so   = 0x0e
	si   = 0x0f
)

// control passes on the C0 controls that draw.
func (f *Filter) control(dst []byte, c byte) []byte {
	switch c {
	case bs, ht, lf, vtab, ff, cr:
	case so, si:
		f.drawn.shifted = c == so
	case bel:
		if !f.Input {
			f.dropped++
			return dst
		}
	default:
		f.dropped++
		return dst
	}
	return append(dst, c)
}

// escape passes on the escape sequences that draw or move the cursor.
func (f *Filter) escape(dst []byte, t *Token) []byte {
	switch {
	case t.Inter[0] == 0:
		switch t.Final {
		case '7', '8', 'D', 'E', 'M': // DECSC, DECRC, IND, NEL, RI
			return append(dst, esc, t.Final)
		case '=', '>': // DECKPAM, DECKPNM
			if f.Input {
				f.drawn.keypad = t.Final == '='
				return append(dst, esc, t.Final)
			}
		case 'c': // RIS, reduced to the effects that Restore can undo
			return append(f.Restore(dst), "\x1b[H\x1b[2J"...)
		}
	case t.Inter[1] != 0:
	case t.Inter[0] == '(' || t.Inter[0] == ')': // SCS
		if t.Final == 'B' || t.Final == '0' || t.Final == 'A' {
			set := t.Final
			if set == 'B' {
				set = 0
			}
			f.drawn.charsets[t.Inter[0]-'('] = set
			return append(dst, esc, t.Inter[0], t.Final)
		}
	case t.Inter[0] == '#' && t.Final == '8': // DECALN
		return append(dst, esc, '#', '8')
	}
	f.dropped++
	return dst
}

// csi passes on the control sequences that draw. The names are those of ECMA-48 section 8.3.
func (f *Filter) csi(dst []byte, t *Token) []byte {
	switch {
	case t.Private == '?' && t.Inter[0] == 0 && (t.Final == 'h' || t.Final == 'l'):
		for i := range t.Len() {
			dst = f.mode(dst, t.Param(i, 0), t.Final == 'h')
		}
		return dst
	case t.Private == 0 && t.Inter == [2]byte{'!'} && t.Final == 'p': // DECSTR
		return f.soft(dst)
	case t.Private == 0 && t.Inter == [2]byte{' '} && t.Final == 'q' && f.Input: // DECSCUSR
		f.drawn.style = t.Param(0, 0) != 0
		return append(appendParams(append(dst, "\x1b["...), t, 1), " q"...)
	case t.Private == '>' && t.Inter[0] == 0 && t.Final == 'c' && t.Param(0, 0) == 0 && f.Questions: // DA2
		return append(dst, "\x1b[>c"...)
	case f.Questions && t.asksMode():
		return askMode(dst, t)
	case f.Questions && t.Private != 0 && t.asksOther(): // XTVERSION, kitty
		return append(dst, esc, '[', t.Private, t.Final)
	case f.Questions && t.asksOther():
		return append(dst, "\x1b[18t"...)
	case !t.plain():
		f.dropped++
		return dst
	}
	params := 1
	switch t.Final {
	case 'A',
		'B',
		'C',
		'D',
		'E',
		'F',
		'G',
		'I',
		'Z',
		'`',
		'a',
		'd',
		'e': // CUU CUD CUF CUB CNL CPL CHA CHT CBT HPA HPR VPA VPR
	case '@', 'K', 'L', 'M', 'P', 'S', 'X': // ICH EL IL DL DCH SU ECH
	case 'T': // SD; xterm's mouse tracking has more parameters
		if t.Len() > 1 {
			f.dropped++
			return dst
		}
	case 'J': // ED; 3 erases the scrollback
		if t.Param(0, 0) > 2 {
			f.dropped++
			return dst
		}
	case 'H', 'f': // CUP, HVP
		params = 2
	case 'b': // REP
		return append(strconv.AppendInt(append(dst, "\x1b["...), int64(min(t.count(), maxRepeat)), 10), 'b')
	case 'm':
		return f.sgr(dst, t)
	case 'r': // DECSTBM
		f.drawn.region = t.Len() > 0
		params = 2
	case 's', 'u': // SCOSC, SCORC; with parameters DECSLRM and a question of kitty
		if t.Len() > 0 {
			f.dropped++
			return dst
		}
	case 'h', 'l': // IRM; the others change the keyboard
		for i := range t.Len() {
			if t.Param(i, 0) != 4 {
				f.dropped++
				continue
			}
			f.drawn.insert = t.Final == 'h'
			dst = append(dst, esc, '[', '4', t.Final)
		}
		return dst
	case 'n': // DSR, CPR
		if n := t.Param(0, 0); !f.Questions || n != 5 && n != 6 {
			f.dropped++
			return dst
		}
	case 'c': // DA1
		if !f.Questions || t.Param(0, 0) != 0 {
			f.dropped++
			return dst
		}
	default:
		f.dropped++
		return dst
	}
	return append(appendParams(append(dst, "\x1b["...), t, params), t.Final)
}

// appendParams appends at most the first n parameters of a CSI.
func appendParams(dst []byte, t *Token, n int) []byte {
	for i := range min(n, t.Len()) {
		if i > 0 {
			dst = append(dst, ';')
		}
		if p := t.Param(i, -1); p >= 0 {
			dst = strconv.AppendInt(dst, int64(p), 10)
		}
	}
	return dst
}

// askMode appends DECRQM.
func askMode(dst []byte, t *Token) []byte {
	dst = append(dst, esc, '[')
	if t.Private != 0 {
		dst = append(dst, t.Private)
	}
	return append(strconv.AppendInt(dst, int64(t.Param(0, 0)), 10), "$p"...)
}

// mode passes on DECSET or DECRST of one mode, and records it for Restore.
func (f *Filter) mode(dst []byte, mode int, on bool) []byte {
	d := &f.drawn
	switch mode {
	case 6: // DECOM
		d.origin = on
	case 7: // DECAWM
		d.noWrap = !on
	case 25: // DECTCEM
		d.hidden = !on
	case 47, 1047, 1049: // the alternate screen, always written as mode 1049
		d.alt, mode = on, 1049
	case 1048: // xterm: DECSC and DECRC
		if on {
			return append(dst, esc, '7')
		}
		return append(dst, esc, '8')
	case 1, 66, 9, 1000, 1002, 1003, 1004, 1005, 1006, 1015, 2004: // DECCKM, DECNKM, the mouse, focus, bracketed paste
		if !f.Input {
			f.dropped++
			return dst
		}
		d.setMode(mode, on)
	default:
		f.dropped++
		return dst
	}
	return appendMode(dst, mode, on)
}

// appendMode appends the DECSET or DECRST of one mode.
func appendMode(dst []byte, mode int, on bool) []byte {
	final := byte('l')
	if on {
		final = 'h'
	}
	return append(strconv.AppendInt(append(dst, "\x1b[?"...), int64(mode), 10), final)
}
