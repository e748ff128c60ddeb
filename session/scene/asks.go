package scene

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"ptyctl/internal/lazyregexp"
	"ptyctl/screen"
	"ptyctl/session/prompt"
	"ptyctl/term"
)

const (
	// mostText bounds the text of a question, in bytes.
	mostText = 240
	// mostPart is the same for one part of it.
	mostPart = 80
	// partEnd is between the parts.
	partEnd = " | "
	// mostSelected is how many highlights are named: an entry and a button.
	mostSelected = 2
	// leastSelected is the least length of such a part outside of a box; shorter ones are names of keys.
	leastSelected = 3
)

// Asks returns the question of a full-screen program, as far as the screen shows it: the title and the text of the box
// around the cursor, the line at the cursor, and the selected entry. The kind is prompt.Editor, except where the line at
// the cursor is a known question or a field for a password.
func Asks(now *screen.Snapshot) *term.Waiting {
	_, w := look(now)
	return w
}

// Dialog returns the question of a program in a box that it has drawn on the main screen. It returns nil if no box
// has a selected part, or if the cursor is below it, where a shell goes on.
func Dialog(now *screen.Snapshot) *term.Waiting {
	v, w := look(now)
	if v.box == nil || len(v.selected) == 0 || now.Cursor.Row > v.box.bottom {
		return nil
	}
	return w
}

// A view is the parts of a screen that make its question.
type view struct {
	now      *screen.Snapshot
	box      *box // around the focus; nil: no box
	standing []screen.Highlight
	selected []screen.Highlight // the last of those that seem to be selected
}

// look finds the parts and joins them.
func look(now *screen.Snapshot) (*view, *term.Waiting) {
	v := &view{now: now, standing: now.Highlights()}
	v.box = boxAround(now, now.Cursor.Row, now.Cursor.Col)
	if v.box == nil && len(v.standing) > 0 { // the cursor is parked elsewhere
		h := v.standing[len(v.standing)-1]
		if now.Cursor.Hidden || now.Cursor.Row == 0 && now.Cursor.Col == 0 {
			v.box = boxAround(now, h.Row, h.From)
		}
	}
	v.choose()
	left, right, ok := Line(now)
	line := ""
	if ok && !now.Cursor.Hidden {
		line = clean(now.Row(now.Cursor.Row))
		if v.box != nil {
			line = v.box.row(now, now.Cursor.Row)
		}
	}
	var parts []string
	message := ""
	if v.box != nil {
		message = v.box.message(now, v.firstFocus())
		parts = append(parts, v.box.title(now), message)
	} else if h := v.titleBar(); h >= 0 {
		parts = append(parts, clean(now.Row(h)))
	}
	parts = append(parts, line)
	for _, h := range v.selected {
		text := clean(span(now, h.Row, h.From, h.To))
		if v.box != nil && utf8.RuneCountInString(text) < leastSelected { // a mark before the entry
			text = v.box.row(now, h.Row)
		}
		parts = append(parts, "highlighted: "+cut(text, mostPart))
	}
	w := &term.Waiting{Kind: v.kind(clean(left), line, message), Text: join(parts)}
	if w.Text == onePart(line) && v.box == nil { // the line as it is, which the output may end with
		w.Text = cut(onePart(left+right), mostText)
	}
	return v, w
}

// choose finds the selected entry. A row with several parts is a bar of keys or the head of a table, one that a frame ends
// is a window, and the first row is a title.
func (v *view) choose() {
	inRow := make(map[int]int)
	for _, h := range v.standing {
		inRow[h.Row]++
	}
	for _, h := range v.standing {
		text := span(v.now, h.Row, h.From, h.To)
		bare := clean(text)
		wide := h.From == 0 && h.To >= v.now.Cols
		switch {
		case inRow[h.Row] > 1, h.Row == 0 && wide, framed(text):
		case bare == "" && (v.box == nil || h.To-h.From > 1): // a block in a box may be the mark before an entry
		case h.Row == v.now.Cursor.Row && !v.now.Cursor.Hidden && !isButton(bare):
		case v.box == nil && utf8.RuneCountInString(bare) < leastSelected:
		case v.box != nil && !v.box.has(h.Row, h.From):
		default:
			v.selected = append(v.selected, h)
		}
	}
	v.selected = v.selected[max(0, len(v.selected)-mostSelected):]
}

// firstFocus returns the row that has the focus.
func (v *view) firstFocus() int {
	if len(v.selected) > 0 {
		return v.selected[0].Row
	}
	return v.now.Cursor.Row
}

// titleBar returns the row of the bar across the top, or -1.
func (v *view) titleBar() int {
	for _, h := range v.standing {
		if h.Row == 0 && h.To-h.From > v.now.Cols/2 && !(v.now.Cursor.Row == 0 && !v.now.Cursor.Hidden) {
			return 0
		}
	}
	return -1
}

// secretLabel is the label of a field for a secret.
var secretLabel = lazyregexp.New(`(?i)\bpass(?:word|phrase|code)\b|\bpin\b`)

// kind returns the kind of the question. left is the line up to the cursor, line the whole of it, and message the text
// of the box.
func (v *view) kind(left, line, message string) string {
	if v.now.Cursor.Hidden {
		return prompt.Editor
	}
	if w := prompt.Waits(left+" ", nil); w != nil {
		switch w.Kind {
		case prompt.Password, prompt.YesNo, prompt.HostKey, prompt.Login:
			return w.Kind
		}
	}
	if v.box != nil {
		if strings.Trim(line, "*_ ") == "" && secretLabel.MatchString(message) {
			return prompt.Password
		}
		return prompt.Editor
	}
	// An editor shows texts of any form. A question of its own stands out.
	for _, h := range v.standing {
		if h.Row == v.now.Cursor.Row && h.From == 0 && h.Row > 0 {
			if w := prompt.Asks(left); w != nil && w.Kind == prompt.YesNo {
				return w.Kind
			}
		}
	}
	return prompt.Editor
}

// isButton reports whether a text looks like a button.
func isButton(s string) bool {
	return strings.ContainsFunc(s, unicode.IsLetter) && (s[0] == '<' && s[len(s)-1] == '>' || s[0] == '[' && s[len(s)-1] == ']')
}

// framed reports whether a text begins or ends with a line of a box.
func framed(s string) bool {
	s = strings.TrimSpace(s)
	first, _ := utf8.DecodeRuneInString(s)
	last, _ := utf8.DecodeLastRuneInString(s)
	return isLine(first) || isLine(last)
}

// isLine reports whether r is one of the characters of lines and boxes.
func isLine(r rune) bool { return r >= 0x2500 && r <= 0x257f }

// clean returns a text without lines, the filling of fields and characters that are not for reading, and with single
// blanks.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if isLine(r) || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
	words := strings.Fields(s)
	kept := words[:0]
	for _, w := range words {
		if w = strings.TrimRight(w, "_"); w != "" {
			kept = append(kept, w)
		}
	}
	return strings.Join(kept, " ")
}

// standingBar matches text that looks like partEnd.
var standingBar = lazyregexp.New(`(^|[\s\p{Z}])\|($|[\s\p{Z}])`)

// onePart returns a text that cannot be taken for several parts: a program may show anything.
func onePart(s string) string {
	for range 2 { // neighbours share a blank
		s = standingBar.ReplaceAllString(s, "${1}¦${2}")
	}
	return s
}

// join joins the parts that are not empty.
func join(parts []string) string {
	kept := parts[:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, cut(onePart(p), mostPart))
		}
	}
	return cut(strings.Join(kept, partEnd), mostText)
}

// cut shortens a text to at most so many bytes.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	s = s[:most-len("…")]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + "…"
}
