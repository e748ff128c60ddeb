package match

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxEchoKey is how much of a typed line is compared, in bytes.
	maxEchoKey = 1 << 10

	// longEcho is the least length, in characters, of a typed line that is recognized as the end of an output line
	// whatever the rest of that line is.
	longEcho = 4

	// somePart is how many characters at the end of a row identify a typed line that does not fit into one row: line
	// editors scroll such a line, or show it row by row.
	somePart = 12
)

// An Echo is typed text as a terminal may show it. The zero value is nothing.
type Echo struct {
	line   string   // the unfinished line when the text was typed
	before string   // the same, without blanks
	lines  []string // the typed lines, without blanks
}

// EchoOf returns the echo to expect of data. line is the unfinished last line before data is typed, the prompt in most
// cases.
//
// Line editors complete, expand and wrap. Therefore only the part of a line before its first control character counts,
// other than erasures, and blanks do not count.
func EchoOf(data []byte, line string) Echo {
	e := Echo{before: squeeze(line), line: line}
	var text []rune
	whole := true // no control character that only the far side understands came yet
	end := func(entered bool) {
		key := squeeze(string(text))
		// An editor may draw the line again when it is entered.
		if key != "" || entered && len(e.lines) == 0 && e.before != "" {
			e.lines = append(e.lines, key[:min(len(key), maxEchoKey)])
		}
		text, whole = text[:0], true
	}
	for _, r := range string(data) {
		switch {
		case r == '\r' || r == '\n':
			end(true)
		case !whole:
		case r == '\b' || r == 0x7f:
			text = text[:max(len(text)-1, 0)]
		case r == 0x15: // ctrl_u erases the line (termios VKILL)
			text = text[:0]
		case unicode.IsControl(r) && r != 0x1b && len(text) == 0: // a key of the editor
		case unicode.IsControl(r):
			whole = false
		default:
			text = append(text, r)
		}
	}
	end(false)
	return e
}

// Any reports whether there is an echo to expect.
func (e Echo) Any() bool { return len(e.lines) > 0 }

// squeeze removes the blanks of s, and the marks in which line editors differ.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, s)
}

// An echoes recognises the lines of the output that show typed text.
//
// The echo of a line comes once or twice: by the terminal driver while a program runs, and then by the line editor
// behind its prompt, when that reads the input typed ahead.
type echoes struct {
	before   string
	atPrompt bool // before is a prompt: the editor reads the text at once, and shows it once
	isPrompt func(string) bool
	lines    []expected
	again    string // the line echoed last: a shell under set -v shows it once more
	passed   bool   // a line of output came: the echo cannot begin behind before any more
	least    int    // characters in the first row of a line that does not fit into one
}

type expected struct {
	key   string
	wide  bool // it may be wider than the terminal
	shown bool // once, at the start of a line: it may come again behind a prompt
	begun bool // a row of it was shown
}

// newEchoes expects e in a terminal of so many columns; 0: unknown.
func newEchoes(e Echo, cols int, isPrompt func(string) bool) *echoes {
	x := &echoes{before: e.before, isPrompt: isPrompt, least: max(somePart, cols*2/5)}
	x.atPrompt = e.before != "" && isPrompt(e.line)
	for _, l := range e.lines {
		x.lines = append(x.lines, expected{key: l, wide: 2*(len(e.before)+len(l)) > cols})
	}
	return x
}

// over reports whether no echo is expected any more.
func (x *echoes) over() bool { return len(x.lines) == 0 && x.again == "" }

// take reports whether the finished line is an echo, and then no longer expects it.
func (x *echoes) take(line string) bool {
	squeezed := squeeze(line)
	for i := range x.lines {
		l := &x.lines[i]
		at, ok := x.find(squeezed, line, l)
		switch {
		case !ok && x.row(squeezed, l):
			if !strings.HasSuffix(l.key, scrolled(squeezed)) {
				l.begun = true
				return true
			}
		case !ok:
			continue
		case !l.shown && (at == 0 || squeezed[:at] == x.before && !x.atPrompt):
			l.shown = true
			return true
		}
		x.again = ""
		if at > 0 && strings.ContainsAny(squeezed[at-1:at], "$#%") {
			x.again = l.key
		}
		x.lines = append(x.lines[:i], x.lines[i+1:]...)
		return true
	}
	again := x.again
	x.again = ""
	x.passed = x.passed || squeezed != ""
	return squeezed != "" && squeezed == again
}

// row reports whether the squeezed line is a part of l that a line editor shows.
func (x *echoes) row(squeezed string, l *expected) bool {
	if squeezed = scrolled(squeezed); !l.wide || l.shown || squeezed == "" {
		return false
	}
	if !l.begun && len(squeezed) < x.least { // short output may repeat a word of the line
		return false
	}
	return strings.Contains(x.before+l.key, squeezed) ||
		len(squeezed) >= somePart && strings.HasSuffix(l.key, squeezed[len(squeezed)-somePart:])
}

// scrolled removes the sign with which line editors mark that a line goes on.
func scrolled(squeezed string) string {
	if n := len(squeezed) - 1; n > 0 && strings.IndexByte("<>*+", squeezed[n]) >= 0 {
		return squeezed[:n]
	}
	return squeezed
}

// whole reports whether the line is an echo to its last character.
func (x *echoes) whole(line string) bool {
	squeezed := squeeze(line)
	for i := range x.lines {
		l := &x.lines[i]
		if head, found := strings.CutSuffix(squeezed, l.key); found && l.key != "" && x.begins(head, line) && !l.shown {
			return true
		}
	}
	return false
}

// find returns where in the squeezed line the echo of l begins.
func (x *echoes) find(squeezed, line string, l *expected) (at int, ok bool) {
	switch head, found := strings.CutSuffix(squeezed, l.key); {
	case l.shown:
		return len(head), found && x.repeats(head, line)
	case found && (l.wide || x.begins(head, line)): // an editor that wraps a line may draw parts of it before
		return len(head), true
	}
	if x.before != "" && l.key != "" && strings.HasPrefix(squeezed, x.before+l.key) {
		return len(x.before), true // a right prompt follows
	}
	if x.escaped(squeezed, line, l) {
		return len(squeezed), true
	}
	for from := 0; l.key != ""; { // behind a prompt that is not the one before, with a right prompt behind it
		i := strings.Index(squeezed[from:], l.key)
		if i < 0 {
			return 0, false
		}
		if at = from + i; at > 0 && x.prompts(squeezed[:at], line) {
			return at, true
		}
		from = at + 1
	}
	return 0, false
}

// begins reports whether an echo may begin behind head: at the start of a line, behind the line that the cursor was in,
// or behind a prompt, which may have that line behind it when an editor draws it again.
func (x *echoes) begins(head, line string) bool {
	if head == x.before || head == "" || carets(head, x.before) || x.prompts(head, line) {
		return true
	}
	return x.redrawn(head, line)
}

// repeats reports whether the echo of a line that was typed ahead may begin behind head.
func (x *echoes) repeats(head, line string) bool {
	return head != "" && (x.prompts(head, line) || x.redrawn(head, line))
}

// redrawn reports whether head is a prompt and the line that the cursor was in.
func (x *echoes) redrawn(head, line string) bool {
	prompt, ok := strings.CutSuffix(head, x.before)
	return ok && x.before != "" && x.prompts(prompt, line)
}

// carets reports whether head is before and control characters as a terminal driver shows them, ^A for example (termios
// ECHOCTL).
func carets(head, before string) bool {
	rest, ok := strings.CutPrefix(head, before)
	for ok && len(rest) >= 2 && rest[0] == '^' {
		rest = rest[2:]
	}
	return ok && rest == ""
}

// escaped reports whether the line shows l with other signs in place of the characters that are not ASCII.
func (x *echoes) escaped(squeezed, line string, l *expected) bool {
	first := strings.IndexFunc(l.key, func(r rune) bool { return r >= utf8.RuneSelf })
	last := strings.LastIndexFunc(l.key, func(r rune) bool { return r >= utf8.RuneSelf })
	if first < longEcho {
		return false
	}
	_, size := utf8.DecodeRuneInString(l.key[last:])
	i := strings.Index(squeezed, l.key[:first])
	return i >= 0 && x.begins(squeezed[:i], line) && strings.HasSuffix(squeezed, l.key[last+size:])
}

// prompts reports whether the beginning of line that squeezes to head looks like a shell's prompt.
func (x *echoes) prompts(head, line string) bool {
	for i, r := range line {
		switch {
		case squeeze(string(r)) == "":
		case len(head) == 0:
			return x.isPrompt(line[:i]) // with its blanks
		default:
			head = head[min(utf8.RuneLen(r), len(head)):]
		}
	}
	return false
}

// coming reports whether the unfinished line may be an echo that is not complete, or that waits for its line end.
func (x *echoes) coming(line string) bool {
	squeezed := squeeze(line)
	if x.again != "" && squeezed != "" && strings.HasPrefix(x.again, squeezed) {
		return true
	}
	for i := range x.lines {
		l := &x.lines[i]
		if x.row(squeezed, l) || l.wide && !l.shown && len(squeezed) >= somePart &&
			strings.Contains(l.key, squeezed[len(squeezed)-somePart:]) {
			return true
		}
		if !l.shown && !x.passed && x.before != "" && x.under(squeezed, line, l.key) {
			return true
		}
		for n := range min(len(l.key), len(squeezed)) {
			head, ok := strings.CutSuffix(squeezed, l.key[:n+1])
			if ok && (x.repeats(head, line) || !l.shown && x.begins(head, line) && (!x.passed || head != x.before)) {
				return true
			}
		}
		if first := strings.IndexFunc(l.key, func(r rune) bool { return r >= utf8.RuneSelf }); first >= longEcho {
			if i := strings.Index(squeezed, l.key[:first]); i >= 0 && x.begins(squeezed[:i], line) {
				return true
			}
		}
	}
	return false
}

// under reports whether the squeezed line is the line that the cursor was in, with the beginning of key or all of it.
// Behind all of it only the rest of its row may come, a right prompt for example: a row below is output.
func (x *echoes) under(squeezed, line, key string) bool {
	rest, ok := strings.CutPrefix(squeezed, x.before)
	if !ok || strings.HasPrefix(key, rest) {
		return ok
	}
	behind, ok := strings.CutPrefix(rest, key)
	return ok && key != "" && len(behind) < len(squeeze(line[strings.LastIndexByte(line, '\n')+1:]))
}
