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

	// Others counts DECRQM, DECRQSS, XTVERSION, XTWINOPS 18, OSC 10 and 11, and kitty's question for its keyboard
	// flags. A terminal that does not know a setting may leave it unanswered.
	Others int
}

// Total returns the number of all questions but DA3, which today's programs do not ask.
func (q Queries) Total() int {
	return q.Status + q.CursorPosition + q.Primary + q.Secondary + q.Others
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
		case DCS:
			if bytes.HasPrefix(tok.Data, []byte("$q")) { // DECRQSS
				t.queries.Others++
			}
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
		if tok.asksMode() {
			t.queries.Others++
		}
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
	case 'q', 't', 'u':
		if tok.asksOther() {
			t.queries.Others++
		}
	}
}

// asksMode reports whether a CSI is DECRQM, the question whether a mode is on.
func (t *Token) asksMode() bool {
	return t.Final == 'p' && t.Inter == [2]byte{'$'} && (t.Private == 0 || t.Private == '?')
}

// asksOther reports whether a CSI is XTVERSION, XTWINOPS 18 or kitty's question for its keyboard flags.
func (t *Token) asksOther() bool {
	switch {
	case t.Inter[0] != 0:
		return false
	case t.Final == 'q':
		return t.Private == '>' && t.Param(0, 0) == 0
	case t.Final == 't':
		return t.Private == 0 && t.Param(0, 0) == 18
	}
	return t.Final == 'u' && t.Private == '?'
}

// asksColor reports whether the content of an OSC asks for the colour of text or of its background.
func asksColor(data []byte) bool { return string(data) == "10;?" || string(data) == "11;?" }

// asksSetting reports whether the content of a DCS is DECRQSS for a setting with a numeric value: the style of text,
// the margins, the protection of text or the shape of the cursor.
func asksSetting(data []byte) bool {
	switch string(data) {
	case "$qm", "$qr", "$qs", `$q"q`, "$q q":
		return true
	}
	return false
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
