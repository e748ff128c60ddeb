package frame

import (
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"

	"ptyctl/screen"
)

// A Frame is a screen at one moment.
type Frame struct {
	head head
	rows []string // each as JSON: its runs
}

// head is all of a frame but its rows. It is comparable.
type head struct {
	Cols    int    `json:"cols"`
	Rows    int    `json:"rows"`
	Y       int    `json:"y"`
	X       int    `json:"x"`
	Hidden  bool   `json:"hidden,omitempty"` // the cursor
	Shape   int    `json:"shape,omitempty"`  // of the cursor, by the numbers of DECSCUSR
	Title   string `json:"title,omitempty"`
	Alt     bool   `json:"alt,omitempty"`     // a full-screen program has the alternate screen
	Reverse bool   `json:"reverse,omitempty"` // foreground and background are exchanged
	Partial bool   `json:"partial,omitempty"` // some output was too costly to draw
}

// Of makes the frame of a snapshot. partial says that some output was left out of it.
func Of(now *screen.Snapshot, partial bool) *Frame {
	f := &Frame{
		head: head{
			Cols: now.Cols, Rows: now.Rows, Y: now.Cursor.Row, X: now.Cursor.Col, Hidden: now.Cursor.Hidden,
			Shape: now.Cursor.Shape, Title: now.Title, Alt: now.AltScreen, Reverse: now.Modes.ReverseScreen,
			Partial: partial,
		},
		rows: make([]string, now.Rows),
	}
	var buf []byte
	for y := range f.rows {
		buf = appendRow(buf[:0], now, y)
		f.rows[y] = string(buf)
	}
	return f
}

// AppendPatch appends a JSON object with the state of the frame, and in "l" the rows that differ from those of before,
// by their numbers. If before is nil or of another size, it has all rows that are not empty, and "full". changed is
// false if nothing differs; nothing is appended then.
func (f *Frame) AppendPatch(dst []byte, before *Frame) (patch []byte, changed bool) {
	patch, changed, _ = f.AppendPatchWithin(dst, before, math.MaxInt)
	return patch, changed
}

// AppendPatchWithin is AppendPatch for a reader that takes a patch of at most that many bytes: the rows from the one
// that has no room are left out, and cut is true. The state of the frame is there in any case.
func (f *Frame) AppendPatchWithin(dst []byte, before *Frame, most int) (patch []byte, changed, cut bool) {
	full := before == nil || before.head.Cols != f.head.Cols || before.head.Rows != f.head.Rows
	start := len(dst)
	text, err := json.Marshal(f.head)
	if err != nil { // it has only numbers and text
		return dst, false, false
	}
	dst = append(dst, text[:len(text)-1]...)
	if full {
		dst = append(dst, `,"full":true`...)
	}
	dst = append(dst, `,"l":{`...)
	n := 0
	for y, row := range f.rows {
		if full && row == "[]" || !full && row == before.rows[y] {
			continue
		}
		if len(row) > most-(len(dst)-start)-rowFrame {
			cut = true
			break
		}
		if n++; n > 1 {
			dst = append(dst, ',')
		}
		dst = append(dst, '"')
		dst = strconv.AppendInt(dst, int64(y), 10)
		dst = append(append(dst, `":`...), row...)
	}
	if !full && n == 0 && !cut && f.head == before.head {
		return dst[:start], false, cut
	}
	return append(dst, "}}"...), true, cut
}

// rowFrame is the most bytes that a row takes beside its runs: a comma, its number in quotes, a colon, and the end of
// the patch.
const rowFrame = len(`,"1000":}}`)

// Size is how many bytes the rows of the frame take.
func (f *Frame) Size() (n int) {
	for _, row := range f.rows {
		n += len(row)
	}
	return n
}

// appendRow appends the runs of a row: [text, style], and the number of columns if it is not that of the characters of
// a plain text. Blanks without a style at the end are left out.
func appendRow(dst []byte, now *screen.Snapshot, y int) []byte {
	end := now.Cols
	for end > 0 && blank(now.Cell(y, end-1)) {
		end--
	}
	dst = append(dst, '[')
	var text []byte
	c := now.Cell(y, 0)
	for x := 0; x < end; {
		style, plain := styleOf(&c.Style), isPlain(&c)
		text = appendText(text[:0], &c)
		from := x
		for x += max(1, c.Width); x < end; x += max(1, c.Width) {
			// A character of two columns, or one that may come from another font, gets its columns to itself.
			if c = now.Cell(y, x); !plain || !isPlain(&c) || styleOf(&c.Style) != style {
				break
			}
			text = appendText(text, &c)
		}
		if from > 0 {
			dst = append(dst, ',')
		}
		dst = appendQuoted(append(dst, '['), text)
		if name := style.String(); name != "" || !plain {
			dst = append(append(append(dst, `,"`...), name...), '"')
		}
		if !plain {
			dst = append(dst, ',')
			dst = strconv.AppendInt(dst, int64(x-from), 10)
		}
		dst = append(dst, ']')
	}
	return append(dst, ']')
}

// appendQuoted appends text as a JSON string.
func appendQuoted(dst, text []byte) []byte {
	for _, b := range text {
		if b < ' ' || b >= 0x7f || b == '"' || b == '\\' || b == '<' || b == '>' || b == '&' {
			quoted, _ := json.Marshal(string(text)) // a string has no error
			return append(dst, quoted...)
		}
	}
	return append(append(append(dst, '"'), text...), '"')
}

func appendText(dst []byte, c *screen.Cell) []byte {
	switch {
	case c.Cluster != "":
		return append(dst, c.Cluster...)
	case c.Rune == 0: // half of a character whose other half is gone
		return append(dst, ' ')
	}
	return utf8.AppendRune(dst, c.Rune)
}

// blank reports whether a cell shows nothing.
func blank(c screen.Cell) bool {
	c.Fg, c.Link = 0, ""
	c.Attr &^= screen.Bold | screen.Faint | screen.Italic | screen.Blink
	return c == screen.Cell{Rune: ' ', Width: 1}
}

// isPlain reports whether every font for terminals has the character, in one column.
func isPlain(c *screen.Cell) bool {
	if c.Width != 1 || c.Cluster != "" {
		return false
	}
	return c.Rune < 0x300 || c.Rune >= 0x2500 && c.Rune < 0x25a0 // Latin; lines and blocks
}
