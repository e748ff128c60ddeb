package screen

import (
	"time"

	"ptyctl/vt"
)

// An emulator is a terminal: it executes tokens. Screen feeds it and reads it.
//
// The names of its methods and the behaviour are those of xterm's "XTerm Control Sequences"
// (https://invisible-island.net/xterm/ctlseqs/ctlseqs.html), and of DEC's VT510 manual for functions that the page
// only names.
type emulator struct {
	pen
	shape     int   // DECSCUSR
	extras    texts // underline colours and links
	link      string
	lineColor Color // of the underline
	title     titles
	dir       string // OSC 7
	prompt    Mark   // the last OSC 133
	hold      hold
	frames    uint64    // that were completed
	came      time.Time // see Screen.At
	resets    uint64    // RIS
	replies   replies
	kept      keptModes

	dropString bool // the control string that has begun may hold a secret; see Screen.Cover
}

// A pen draws on the grid that is shown. It is all that decides the effect of a character.
type pen struct {
	*grid          // the screen that is shown
	main     *grid // the main screen while the alternate one is shown, else nil
	cursor   cursor
	margins  span
	tabs     []bool // by column
	modes    modes
	saved    [2]cursor // DECSC, of the main and the alternate screen
	last     rune      // for REP
	clusters texts
	history  *history
	secret   uint64 // added by WriteSecret to the cells that it draws, else 0
	secrets  bool   // there may be such cells
}

// A cursor is the state that DECSC saves: the position, the style, the character sets, the origin mode.
type cursor struct {
	x, y int
	// wrap is true after a character in the last column: the next one begins a new row. This
	// is the "last column flag" of a VT100.
	wrap     bool
	origin   bool // DECOM
	style    cell
	charsets charsets
}

// reset is RIS. It draws on the main screen again.
func (e *emulator) reset() {
	g := e.grid
	if e.main != nil {
		e.main.work += e.grid.work
		spare.Put(e.grid)
		g = e.main
	}
	for y := range g.rows {
		g.clearRow(y, cell{})
	}
	e.init(g)
}

// init draws on g, which is blank, in the state after a reset.
func (e *emulator) init(g *grid) {
	*e = emulator{
		pen: pen{
			grid:     g,
			tabs:     e.tabs,
			modes:    resetModes,
			clusters: texts{mostValues: 4096, mostBytes: 128 << 10},
			history:  e.history,
			secret:   e.secret,
			secrets:  e.secrets,
		},
		extras:  texts{mostValues: 1024, mostBytes: 64 << 10},
		title:   e.title,
		hold:    hold{frame: e.hold.frame},
		frames:  e.frames,
		came:    e.came,
		resets:  e.resets + 1,
		replies: e.replies,
	}
	e.margins = e.all()
	e.resetTabs()
}

// apply carries out a token other than text.
func (e *emulator) apply(t *vt.Token) {
	if t.Kind == vt.Text {
		e.text(t)
		return
	}
	last := e.last
	e.last = 0 // REP repeats a character that came directly before it
	switch t.Kind {
	case vt.Control:
		e.control(t.Final)
	case vt.CSI:
		if t.Final == 'b' && t.Private == 0 && t.Inter[0] == 0 {
			e.repeat(last, count(t))
		} else {
			e.csi(t)
		}
	case vt.Escape:
		e.escape(t)
	case vt.OSC:
		if !e.dropString {
			e.osc(t)
		}
		e.dropString = false
	case vt.DCS:
		e.dcs(t)
		e.dropString = false
	case vt.Canceled:
		e.dropString = false
	}
}

// control applies a C0 control (ECMA-48 section 8.2.1).
func (e *emulator) control(c byte) {
	switch c {
	case '\n', '\v', '\f':
		e.index()
		if e.modes.has(newLine) {
			e.carriageReturn()
		}
	case '\r':
		e.carriageReturn()
	case '\b':
		e.left(1)
	case '\t':
		e.tab(1)
	case 0x0e: // SO
		e.cursor.charsets.left = 1
	case 0x0f: // SI
		e.cursor.charsets.left = 0
	}
}

// escape applies an escape sequence.
func (e *emulator) escape(t *vt.Token) {
	c := &e.cursor
	switch t.Inter[0] {
	case 0:
	case '(', ')', '*', '+':
		c.charsets.designate(int(t.Inter[0]-'('), t.Final)
		return
	case '#':
		if t.Inter[1] == 0 {
			e.lineSize(t.Final)
		}
		return
	default:
		return
	}
	switch t.Final {
	case '6': // DECBI
		e.backIndex()
	case '7': // DECSC
		e.saveCursor()
	case '8': // DECRC
		e.restoreCursor()
	case '9': // DECFI
		e.forwardIndex()
	case '=': // DECKPAM
		e.modes.set(appKeypad, true)
	case '>': // DECKPNM
		e.modes.set(appKeypad, false)
	case 'D': // IND
		e.index()
	case 'E': // NEL
		e.index()
		e.carriageReturn()
	case 'H': // HTS
		e.tabs[c.x] = true
	case 'M': // RI
		e.reverseIndex()
	case 'N', 'O': // SS2, SS3
		c.charsets.single = t.Final - 'N' + 2
	case 'Z': // DECID
		e.replies.primary()
	case 'c': // RIS
		e.reset()
	case 'n', 'o': // LS2, LS3
		c.charsets.left = t.Final - 'n' + 2
	}
}

// lineSize applies an escape sequence with #: the size of a row's characters, and DECALN.
func (e *emulator) lineSize(final byte) {
	_, in := e.row(e.cursor.y)
	switch final {
	case '3', '4', '6': // DECDHL, DECDWL
		if in.double = !e.modes.has(sideMargins); in.double {
			last := e.settle()
			e.erase(e.cursor.y, last+1, e.cols, cell{})
		}
	case '5': // DECSWL
		in.double = false
	case '8':
		e.align()
	}
}

// align draws the test picture of DECALN: a screen of E.
func (e *emulator) align() {
	e.margins = e.all()
	e.cursor.origin = false
	e.home()
	e.work += e.cols * e.rows
	for y := range e.rows {
		row, in := e.row(y)
		fill(row, cell{}.with('E'))
		*in = info{used: uint16(e.cols)}
	}
}

// softReset is DECSTR. It leaves the screen and the position of the cursor.
func (e *emulator) softReset() {
	e.modes.softReset()
	e.margins = e.all()
	e.cursor = cursor{x: e.cursor.x, y: e.cursor.y, wrap: e.cursor.wrap}
	e.link, e.lineColor = "", 0
	e.saved[e.which()] = cursor{}
	e.shape = 0
}

// which returns 1 if the alternate screen is shown, else 0.
func (e *emulator) which() int {
	if e.main != nil {
		return 1
	}
	return 0
}
