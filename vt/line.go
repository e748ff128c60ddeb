package vt

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unicode/utf8"
)

const (
	// maxLine is the most bytes of an unfinished line kept back (a tab counts as eight).
	maxLine  = 4 << 10
	maxCells = 2 * maxLine // includes the columns left free where wide characters wrap
	tabStop  = 8
)

// A cell is the content of one column: a character, a cluster (its index plus firstCluster),
// or one of the following values.
type cell = rune

const (
	void         cell = 0  // never drawn: a blank before other text, nothing at the end
	tail         cell = -1 // a further column of the wide character or tab before it
	spill        cell = -2 // the last column, too narrow for a wide character
	tab          cell = -3 // the start of a tab
	firstCluster cell = utf8.MaxRune + 1
)

// A cluster is a character and its combining marks. A character in an edited line keeps at
// most three marks; the others are dropped.
type cluster [4]rune

// A position is a place of the cursor. Rows are absolute (1 is the top of the screen) once
// the output has set one; before that they count from the row where the line began.
type position struct {
	row, col int
	absolute bool
}

// sameRow reports whether p and q are known to be in the same row.
func (p position) sameRow(q position) bool { return p.row == q.row && p.absolute == q.absolute }

// A line is the line that the output is drawing. While output only appends, the line is text
// and costs one copy. The first move of the cursor splits it into cells, one per column, row
// after row if the width is known. While all cells are ASCII or void, they stay in text, one
// byte each; otherwise they are in cells.
type line struct {
	cols   int    // width of the terminal, 0 unknown
	expand bool   // tabs become blanks
	out    []byte // finished lines
	seen   []byte // the part of the line already returned

	text  []byte
	width int  // upper bound of the columns of text
	home  bool // a CR has taken the cursor from the end of text to the start of its last row

	laid     bool // the line has cells
	wide     bool // the cells are in cells, and text is empty
	cells    []cell
	clusters []cluster
	top      position // position of cells[0]; its col is 0
	at       position // the cursor; equal to top in text mode, where text and home define it

	apart     bool     // the cursor was put into the row below the last one, which is full
	saved     position // DECSC
	last      rune     // for REP
	insert    bool     // IRM
	changed   bool     // drawn text has been overwritten or erased
	rewritten int      // lines that were changed
	spare     spare
}

// write draws s, which must be whole characters without controls. ascii true means that all
// are ASCII; with false they may be.
func (l *line) write(s []byte, ascii bool) {
	if l.last = rune(s[len(s)-1]); l.last >= utf8.RuneSelf {
		l.last, _ = utf8.DecodeLastRune(s)
	}
	if l.laid {
		l.land()
	} else if l.home {
		l.home = false
		if len(l.text) > 0 {
			l.home = true
			l.lay()
		}
	}
	if l.laid {
		l.puts(s, ascii)
		return
	}
	for len(s) > 0 {
		n := len(s)
		if room := maxLine - l.width; n > room {
			for n = max(0, room); n > 0 && !utf8.RuneStart(s[n]); n-- {
			}
		}
		l.text = append(l.text, s[:n]...)
		l.width += n
		if s = s[n:]; len(s) > 0 {
			l.pass()
		}
	}
}

// add is the fast path of write for the usual text of a full-screen program: ASCII, a line
// with cells in one row, and the cursor at or beyond its end, with room there. It reports
// whether it drew s.
func (l *line) add(s []byte) bool {
	if l.wide || l.insert || !l.at.sameRow(l.top) {
		return false
	}
	end, limit := l.at.col+len(s), maxCells
	if l.cols > 0 {
		limit = min(l.cols, maxCells)
	}
	gap := l.at.col - len(l.text)
	if gap < 0 || end > limit || gap > 1 && !l.spare.spend(gap) {
		return false
	}
	if gap > 0 {
		l.extend(gap)
	}
	l.text = append(l.text, s...)
	l.at.col = end
	l.last = rune(s[len(s)-1])
	return true
}

// lay converts text to cells, for the first change within the line.
func (l *line) lay() {
	if l.laid {
		return
	}
	l.laid, l.at = true, l.top
	n := len(l.text)
	if l.width == n && (l.cols == 0 || n <= l.cols) && leadingASCII(l.text) == n { // no tab, no wrap
		if !l.home {
			l.at.col = n
		}
		l.width, l.home = 0, false
		return
	}
	l.wide = true
	for s := l.text; len(s) > 0; {
		i := bytes.IndexByte(s, ht)
		if i < 0 {
			l.puts(s, false)
			break
		}
		l.puts(s[:i], false)
		l.tab()
		s = s[i+1:]
	}
	if l.home {
		l.at.col = 0
	}
	l.text, l.width, l.home = l.text[:0], 0, false
}

// widen moves the cells from text to cells. Every operation needs it, except drawing ASCII
// and erasing nothing.
func (l *line) widen() {
	if l.wide {
		return
	}
	l.wide = true
	l.extend(len(l.text))
	for i, c := range l.text {
		l.cells[i] = cell(c)
	}
	l.text = l.text[:0]
}

// size returns the number of cells of a line with cells.
func (l *line) size() int {
	if l.wide {
		return len(l.cells)
	}
	return len(l.text)
}

// edit prepares the cells for a change at the cursor, and returns the index of the cursor.
func (l *line) edit() int {
	l.lay()
	l.land()
	l.laid = true
	return l.index()
}

// rows returns the number of rows from cells[0] to the cursor.
func (l *line) rows() int { return l.at.row - l.top.row }

// index returns the cell of the cursor, which may be beyond the end of the line.
func (l *line) index() int {
	if l.cols > 0 {
		return l.rows()*l.cols + l.at.col
	}
	return l.at.col
}

// row returns the bounds of the cursor's row. The upper one may be above size().
func (l *line) row() (from, to int) {
	if l.cols > 0 {
		from = l.rows() * l.cols
		return from, from + l.cols
	}
	return 0, maxCells
}

// here reports whether the cursor is in a row of the line.
func (l *line) here() bool {
	return l.at.sameRow(l.top) || !l.apart &&
		l.cols > 0 && l.at.absolute == l.top.absolute && l.rows() > 0 && l.rows() <= l.size()/l.cols
}

// land begins another line at the cursor if the cursor has left this one.
func (l *line) land() {
	if !l.here() {
		l.leave()
	}
}

// leave ends the line without a line feed, and begins another at the cursor. An empty line
// leaves no line end.
func (l *line) leave() {
	start := len(l.out)
	continued := len(l.seen) > 0
	l.emit()
	l.out = l.out[:start+len(bytes.TrimRight(l.out[start:], " "))]
	if continued || len(l.out) > start {
		l.out = append(l.out, '\n')
	}
	l.reset()
	l.top = l.at
	l.top.col = 0
	l.laid = l.at.col > 0
}

// feed ends the line. Within a wrapped line, above its last row, it only moves down, because
// readline uses LF for that.
func (l *line) feed() {
	if l.cols > 0 && l.laid && l.here() && (l.rows()+1)*l.cols < l.size() {
		l.at.row++
		return
	}
	l.emit()
	l.out = append(l.out, '\n')
	l.at.row++
	l.at.col = 0
	l.top = l.at
	l.reset()
}

// pass returns a line that is too long to be kept. The following text continues it, but can
// no longer change it.
func (l *line) pass() {
	l.emit()
	laid, wide := l.laid, l.wide
	l.reset()
	l.at, l.laid, l.wide = l.top, laid, wide
}

// reset empties the line and returns it to text mode.
func (l *line) reset() {
	if l.changed {
		l.rewritten++
	}
	l.text, l.width, l.home = l.text[:0], 0, false
	l.cells, l.clusters = l.cells[:0], l.clusters[:0]
	l.laid, l.wide, l.changed, l.apart = false, false, false, false
}

// emit appends the line to out, without its front if that was already returned and is
// unchanged.
func (l *line) emit() {
	start := len(l.out)
	l.out, _ = l.appendTo(l.out)
	if len(l.seen) > 0 {
		if bytes.HasPrefix(l.out[start:], l.seen) {
			l.out = append(l.out[:start], l.out[start+len(l.seen):]...)
		}
		l.seen = l.seen[:0]
	}
}

// appendTo appends the line to dst and returns the index of the cursor in dst.
func (l *line) appendTo(dst []byte) (_ []byte, cursor int) {
	if l.expand && !l.laid && bytes.IndexByte(l.text, ht) >= 0 {
		l.lay()
	}
	if !l.laid {
		dst = append(dst, l.text...)
		return dst, len(dst)
	}
	at := -1
	if l.here() {
		at = l.index()
	}
	if !l.wide {
		return l.appendText(dst, at)
	}
	// A terminal's echo erases with blanks (BS, blank, BS), so these are not part of the line.
	end := len(l.cells)
	for end > 0 && (l.cells[end-1] == void || l.changed && l.cells[end-1] == ' ' && end > at) {
		end--
	}
	cursor = -1
	inTab := false
	dst = slices.Grow(dst, end)
	for i := 0; i < end; i++ {
		run := l.cells[i:end]
		free := dst[len(dst):cap(dst)]
		n := 0
		for n < len(run) && n < len(free) && uint32(run[n]) < utf8.RuneSelf { // ASCII or void
			free[n] = byte(max(run[n], ' '))
			n++
		}
		if i <= at && at < i+n {
			cursor = len(dst) + at - i
		}
		dst = dst[:len(dst)+n]
		if i += n; n == len(run) {
			break
		}
		if i == at {
			cursor = len(dst)
		}
		c := l.cells[i]
		if c != tail {
			inTab = c == tab
		}
		switch {
		case c >= firstCluster:
			for _, r := range l.clusters[c-firstCluster] {
				if r != 0 {
					dst = utf8.AppendRune(dst, r)
				}
			}
		case c > 0:
			dst = utf8.AppendRune(dst, c)
		case c == void, inTab && l.expand:
			dst = append(dst, ' ')
		case c == tab:
			dst = append(dst, '\t')
		}
	}
	if cursor < 0 {
		cursor = len(dst)
	}
	return dst, cursor
}

// appendText is appendTo for cells in text.
func (l *line) appendText(dst []byte, at int) (_ []byte, cursor int) {
	end := len(l.text)
	for end > 0 && (l.text[end-1] == 0 || l.changed && l.text[end-1] == ' ' && end > at) {
		end--
	}
	if at < 0 || at > end {
		at = end
	}
	cursor = len(dst) + at
	dst = append(dst, l.text[:end]...)
	s := dst[len(dst)-end:]
	for ; len(s) >= 8; s = s[8:] { // each void becomes a blank
		w := binary.LittleEndian.Uint64(s)
		binary.LittleEndian.PutUint64(s, w|^(w+del*every01)&every80>>2)
	}
	for i, c := range s {
		s[i] = max(c, ' ')
	}
	return dst, cursor
}
