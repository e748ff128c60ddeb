package vt

import "bytes"

// Modes is the set of modes that the output has switched on. The zero value is a terminal
// after a reset.
type Modes struct {
	AltScreen      bool // the alternate screen (xterm: DECSET 47, 1047, 1049): a full-screen program runs
	AppCursor      bool // DECCKM, DECSET 1: the cursor keys send ESC O A, not ESC [ A
	AppKeypad      bool // DECKPAM, ESC =, or DECNKM, DECSET 66
	BracketedPaste bool // DECSET 2004: pasted text is sent between ESC [ 200 ~ and ESC [ 201 ~
	CursorHidden   bool // DECTCEM off, DECRST 25
	Resets         int  // times that RIS (ESC c) or DECSTR (CSI ! p) cleared the above
}

// Queries counts the questions that a terminal would have answered. The counts only grow: a
// caller that answers should keep the last values and answer the difference.
type Queries struct {
	Status         int // DSR 5: CSI 5 n
	CursorPosition int // DSR 6, CPR: CSI 6 n, and DECXCPR, CSI ? 6 n
	Primary        int // DA1: CSI c, and DECID, ESC Z
	Secondary      int // DA2: CSI > c
	Tertiary       int // DA3: CSI = c
}

// A Tracker records the modes, the questions and the marks of the output. The zero value is ready.
type Tracker struct {
	parser  Parser
	modes   Modes
	queries Queries
	marks   Marks
	more    bool // the last mark before a prompt was that of a continuation line
}

// Modes returns the modes that are on now.
func (t *Tracker) Modes() Modes { return t.modes }

// Queries returns the number of questions so far.
func (t *Tracker) Queries() Queries { return t.queries }

// Write reads the next piece of the output. It never fails. Text without sequences costs one
// search for ESC.
func (t *Tracker) Write(p []byte) (int, error) {
	n := len(p)
	t.parser.MaxString = maxMark
	for len(p) > 0 {
		if t.parser.Between() { // only an ESC begins a mode or a question
			i := bytes.IndexByte(p, esc)
			if i < 0 {
				break
			}
			p = p[i:]
		}
		var tok *Token
		if tok, p = t.parser.Next(p); tok == nil {
			break
		}
		switch tok.Kind {
		case Escape:
			t.escape(tok)
		case CSI:
			t.csi(tok)
		case OSC:
			t.osc(tok)
		}
	}
	return n, nil
}

// escape applies DECKPAM, DECKPNM and RIS, and counts DECID.
func (t *Tracker) escape(tok *Token) {
	if tok.Inter[0] != 0 {
		return
	}
	switch tok.Final {
	case '=': // DECKPAM
		t.modes.AppKeypad = true
	case '>': // DECKPNM
		t.modes.AppKeypad = false
	case 'Z': // DECID
		t.queries.Primary++
	case 'c': // RIS
		t.modes = Modes{Resets: t.modes.Resets + 1}
	}
}

// csi applies modes and DECSTR, and counts the questions DSR and DA (ECMA-48 sections 8.3.35
// and 8.3.24).
func (t *Tracker) csi(tok *Token) {
	switch tok.Final {
	case 'h', 'l':
		if tok.Private == '?' && tok.Inter[0] == 0 {
			for i := range tok.Len() {
				t.set(tok.Param(i, 0), tok.Final == 'h')
			}
		}
	case 'p':
		if tok.Private == 0 && tok.Inter[0] == '!' && tok.Inter[1] == 0 { // DECSTR does not switch the screen
			t.modes = Modes{AltScreen: t.modes.AltScreen, Resets: t.modes.Resets + 1}
		}
	case 'n':
		if tok.Inter[0] != 0 {
			break
		}
		switch n := tok.Param(0, 0); {
		case n == 6 && (tok.Private == 0 || tok.Private == '?'):
			t.queries.CursorPosition++
		case n == 5 && tok.Private == 0:
			t.queries.Status++
		}
	case 'c':
		if tok.Inter[0] != 0 || tok.Param(0, 0) != 0 {
			break
		}
		switch tok.Private {
		case 0:
			t.queries.Primary++
		case '>':
			t.queries.Secondary++
		case '=':
			t.queries.Tertiary++
		}
	}
}

// set applies DECSET or DECRST of one mode.
func (t *Tracker) set(mode int, on bool) {
	switch mode {
	case 1:
		t.modes.AppCursor = on
	case 25:
		t.modes.CursorHidden = !on
	case 47, 1047, 1049:
		t.modes.AltScreen = on
	case 66:
		t.modes.AppKeypad = on
	case 2004:
		t.modes.BracketedPaste = on
	}
}
