package screen

import (
	"slices"
	"time"
	"unicode/utf8"
)

// A Snapshot is the screen at one moment. Only Mask changes it afterwards.
type Snapshot struct {
	Lines

	// Version grows with every change that a reader has seen. Two snapshots with the same
	// version of one Screen are equal.
	Version    uint64
	Cursor     Cursor
	Modes      Modes
	Title      string // of the window (OSC 0 and 2), at most 256 bytes
	Dir        string // the URI of the current folder (OSC 7)
	AltScreen  bool   // a full-screen program has the alternate screen
	Prompt     Mark   // the last mark of a shell, NoMark if the shell set no mark
	ScrolledUp uint64 // rows that have left the top of the main screen so far
	// Drawing is true while a program draws a frame (synchronized output, DECSET 2026). The
	// snapshot is then that of the last complete frame.
	Drawing bool
}

// A Cursor is the place where the next character goes.
type Cursor struct {
	Row, Col int // from 0
	Hidden   bool
	Wrap     bool // the last column was drawn; the next character begins a row
	Shape    int  // DECSCUSR: 0 default, 1 and 2 block, 3 and 4 underline, 5 and 6 bar
}

// A Mouse is the kind of events that the program wants of a mouse.
type Mouse uint8

// The kinds of mouse events.
const (
	NoMouse     Mouse = iota
	MousePress        // DECSET 9
	MouseClicks       // 1000: press and release
	MouseDrags        // 1002: and motion with a button
	MouseMoves        // 1003: and all motion
)

// A MouseForm is how the events of a mouse are sent.
type MouseForm uint8

// The forms.
const (
	MouseBytes  MouseForm = iota // a byte for each number
	MouseUTF8                    // DECSET 1005: a character of UTF-8 for each
	MouseDigits                  // 1006, of SGR: decimal numbers, and a release names its button
	MouseRxvt                    // 1015: decimal numbers
	MousePixels                  // 1016: as 1006, in pixels
)

// Modes are the modes of the terminal that concern input.
type Modes struct {
	AppCursor      bool // DECCKM
	AppKeypad      bool // DECKPAM
	BracketedPaste bool // DECSET 2004
	FocusEvents    bool // DECSET 1004
	Mouse          Mouse
	MouseForm      MouseForm
	ReverseScreen  bool // DECSCNM: foreground and background are exchanged
}

// Lines are rows of text with their styles: those of the screen, or those that left it.
// Rows and columns count from 0.
type Lines struct {
	Cols, Rows int

	rows     []extent
	cells    []cell
	clusters []string
	extras   []string // by number; 0 means no extra
}

// extent is the cells of a row, without blank ones at its end.
type extent struct {
	from, to int32
	wrapped  bool
	mark     Mark
}

func (l *Lines) at(row int) []cell {
	if row < 0 || row >= len(l.rows) {
		return nil
	}
	return l.cells[l.rows[row].from:l.rows[row].to]
}

// AppendRow appends the text of a row, without blanks at its end.
func (l *Lines) AppendRow(dst []byte, row int) []byte {
	start := len(dst)
	for _, c := range l.at(row) {
		if !c.isTail() {
			dst = appendChar(dst, c, l.clusters)
		}
	}
	end := len(dst)
	for end > start && dst[end-1] == ' ' {
		end--
	}
	return dst[:end]
}

// Row returns the text of a row, without blanks at its end.
func (l *Lines) Row(row int) string { return string(l.AppendRow(nil, row)) }

// Text returns all rows, each with a line feed at its end.
func (l *Lines) Text() string {
	var b []byte
	for y := range l.Rows {
		b = append(l.AppendRow(b, y), '\n')
	}
	return string(b)
}

// Wrapped reports whether the text of a row goes on in the next row, because the line was
// longer than the screen is wide.
func (l *Lines) Wrapped(row int) bool { return row >= 0 && row < len(l.rows) && l.rows[row].wrapped }

// Mark returns the mark that a shell has set in a row: Prompt, Output or NoMark.
func (l *Lines) Mark(row int) Mark {
	if row < 0 || row >= len(l.rows) {
		return NoMark
	}
	return l.rows[row].mark
}

// Cell returns one column of a row.
func (l *Lines) Cell(row, col int) Cell {
	cells := l.at(row)
	if col < 0 || col >= len(cells) {
		return Cell{Rune: ' ', Width: 1}
	}
	c := cells[col]
	out := Cell{Rune: c.char(), Width: 1, Style: l.style(c)}
	switch {
	case c.isTail():
		out.Rune, out.Width = 0, 0
	case out.Rune == 0:
		out.Rune = ' '
	case out.Rune >= firstCluster:
		out.Cluster = l.clusters[out.Rune-firstCluster]
		out.Rune, _ = utf8.DecodeRuneInString(out.Cluster)
	}
	if c.isWide() {
		out.Width = 2
	}
	return out
}

func (l *Lines) style(c cell) Style {
	s := Style{Fg: c.fg(), Bg: c.bg(), Attr: c.attr() & (protected - 1), Underline: underline(c)}
	if n := c.extra(); n != 0 {
		s.Link, s.Line = readExtra(l.extras[n])
	}
	return s
}

// reset empties l for another size.
func (l *Lines) reset(cols, rows int) {
	l.Cols, l.Rows = cols, rows
	l.rows, l.cells = slices.Grow(l.rows[:0], rows), l.cells[:0]
	l.clusters, l.extras = l.clusters[:0], l.extras[:0]
}

// add appends a row. The texts of its cells get numbers of their own, so that those of the
// screen can be freed.
func (l *Lines) add(row []cell, in info, clusters, extras *texts) {
	from := len(l.cells)
	l.cells = append(l.cells, row...)
	if len(clusters.index)+len(extras.index) > 0 {
		added := l.cells[from:]
		for i := range added {
			l.own(&added[i], clusters, extras)
		}
	}
	l.rows = append(l.rows, extent{int32(from), int32(len(l.cells)), in.wrapped, in.mark})
}

// own gives the texts of c numbers of l. Neighbours mostly have the same ones.
func (l *Lines) own(c *cell, clusters, extras *texts) {
	if r := c.char(); r >= firstCluster {
		s := clusters.values[r-firstCluster]
		if n := len(l.clusters); n == 0 || l.clusters[n-1] != s {
			l.clusters = append(l.clusters, s)
		}
		c.lo = c.lo&^charMask | uint64(firstCluster+len(l.clusters)-1)
	}
	if n := c.extra(); n != 0 {
		s := extras.values[n]
		if len(l.extras) == 0 {
			l.extras = append(l.extras, "")
		}
		if l.extras[len(l.extras)-1] != s {
			if len(l.extras) > 1<<16-1 {
				s = ""
			} else {
				l.extras = append(l.extras, s)
			}
		}
		c.lo &= 1<<extra - 1
		if s != "" {
			c.lo |= uint64(len(l.extras)-1) << extra
		}
	}
}

// snapshot copies the state into s, which may be nil, secrets included.
func (e *emulator) snapshot(s *Snapshot) *Snapshot {
	if s == nil {
		s = new(Snapshot)
	}
	c, m := &e.cursor, e.modes
	*s = Snapshot{
		Lines: s.Lines,
		Cursor: Cursor{
			Row: c.y, Col: c.x, Wrap: c.wrap, Hidden: !m.has(cursorShown), Shape: e.shape,
		},
		Modes: Modes{
			AppCursor: m.has(appCursor), AppKeypad: m.has(appKeypad), BracketedPaste: m.has(bracketedPaste),
			FocusEvents: m.has(focusEvents), Mouse: m.mouse(), MouseForm: m.mouseForm(),
			ReverseScreen: m.has(reverseScreen),
		},
		Title: e.title.now, Dir: e.dir, AltScreen: e.main != nil, Prompt: e.prompt, ScrolledUp: e.history.total,
	}
	s.reset(e.cols, e.rows)
	for y := range e.rows {
		_, in := e.row(y)
		s.add(e.at(y), *in, &e.clusters, &e.extras)
	}
	return s
}

// mouse returns which events of a mouse the program wants.
func (m modes) mouse() Mouse {
	switch {
	case m.has(mouseMoves):
		return MouseMoves
	case m.has(mouseDrags):
		return MouseDrags
	case m.has(mouseClicks):
		return MouseClicks
	case m.has(mouseX10):
		return MousePress
	}
	return NoMouse
}

// mouseForm returns how they are sent.
func (m modes) mouseForm() MouseForm {
	switch {
	case m.has(mouseUTF8):
		return MouseUTF8
	case m.has(mouseSGR):
		return MouseDigits
	case m.has(mouseRxvt):
		return MouseRxvt
	case m.has(mousePixels):
		return MousePixels
	}
	return MouseBytes
}

// longestFrame is how long a program may take to draw a frame. A program that crashes within
// one must not freeze the screen.
const longestFrame = time.Second

// hold is the last complete frame while a program draws the next.
type hold struct {
	on    bool
	since time.Time
	frame *Snapshot
}

// synchronize begins or ends a frame (DECSET 2026). A second beginning does not make the
// frame last longer.
func (e *emulator) synchronize(on bool) {
	if on && !e.drawing() {
		e.work += 2 * e.cols * e.rows
		e.hold = hold{true, e.now(), e.snapshot(e.hold.frame)}
	}
	if !on && e.drawing() {
		e.frames++
	}
	e.hold.on = on
	e.modes.set(synchronized, on)
}

// drawing reports whether readers must see the frame that is held.
func (e *emulator) drawing() bool {
	if e.hold.on && e.now().Sub(e.hold.since) >= longestFrame {
		e.hold.on = false
		e.modes.set(synchronized, false)
	}
	return e.hold.on
}

// now is when the output that is drawn has come.
func (e *emulator) now() time.Time {
	if e.came.IsZero() {
		return time.Now()
	}
	return e.came
}
