package screen

import (
	"bytes"
	"unicode/utf8"

	"ptyctl/vt"
)

const (
	mostTitle = 256              // bytes of a title that is shown
	keptTitle = mostTitle + 1024 // and kept, so that a secret at its end is found as a whole
	mostURI   = 2048             // bytes of a link or a folder; a longer one is dropped, not cut
)

// osc applies an operating system command: titles, the folder, links and the marks of a shell. It answers the
// questions for colours and takes no other command: one that could read or set something outside the screen (OSC 52,
// the clipboard, for example) has no effect.
func (e *emulator) osc(t *vt.Token) {
	number, rest, _ := bytes.Cut(t.Data, []byte(";"))
	switch string(number) {
	case "0", "2":
		e.title.set(rest)
	case "7":
		if len(rest) <= mostURI && !t.Truncated {
			e.dir = visible(rest)
		}
	case "8":
		_, uri, ok := bytes.Cut(rest, []byte(";"))
		if !ok || t.Truncated || len(uri) > mostURI {
			uri = nil
		}
		if e.link == "" && len(uri) == 0 {
			return
		}
		e.setExtra(visible(uri), e.lineColor)
	case "10", "11":
		if string(rest) == "?" {
			e.replies.color(string(number), t.Final == '\a')
		}
	case "133":
		e.mark(rest)
	}
}

// A Mark is the meaning that a shell gives a row by OSC 133, the marks of FinalTerm.
type Mark uint8

// The marks.
const (
	NoMark  Mark = iota
	Prompt       // A: a prompt begins here
	Command      // B: a command may be typed behind the prompt
	Output       // C: the output of a command begins here
	Done         // D: a command has ended
)

// mark notes a mark for the row of the cursor.
func (e *emulator) mark(s []byte) {
	if len(s) == 0 || len(s) > 1 && s[1] != ';' || s[0] < 'A' || s[0] > 'D' {
		return
	}
	m := Mark(s[0]-'A') + Prompt
	if m == Prompt && (bytes.Contains(s, []byte(";k=s")) || bytes.Contains(s, []byte(";k=c"))) {
		return // a continuation line is a part of the prompt above it
	}
	e.prompt = m
	if _, in := e.row(e.cursor.y); m == Prompt || m == Output {
		in.mark = m
	}
}

// visible returns s without bytes that are not UTF-8 and without controls.
func visible(s []byte) string {
	if utf8.Valid(s) && bytes.IndexFunc(s, control) < 0 {
		return string(s)
	}
	return string(bytes.Map(func(r rune) rune {
		if control(r) {
			return -1
		}
		return r
	}, bytes.ToValidUTF8(s, []byte("\uFFFD"))))
}

// control reports whether r does not belong in text for one line: a control, a line or paragraph end, or a character
// that changes the direction of the text after it.
func control(r rune) bool {
	return r < 0x20 || 0x7f <= r && r < 0xa0 || r == 0x061c || 0x200e <= r && r <= 0x200f ||
		0x2028 <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069
}

// titles is the title of the window and the stack of XTPUSHTITLE.
type titles struct {
	now   string // at most keptTitle bytes
	stack []string
}

// mostTitles is the depth of the stack; xterm has 10.
const mostTitles = 10

func (t *titles) set(s []byte) {
	s = upTo(s, keptTitle)
	if t.now != string(s) {
		t.now = visible(s)
	}
}

// shownTitle returns the part of a title that is shown.
func shownTitle(title string) string { return upTo(title, mostTitle) }

// upTo returns the first n bytes of s at most, without a character that is cut off at the end.
func upTo[T string | []byte](s T, n int) T {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func (t *titles) push() {
	if len(t.stack) < mostTitles {
		t.stack = append(t.stack, t.now)
	}
}

func (t *titles) pop() {
	if n := len(t.stack); n > 0 {
		t.now, t.stack = t.stack[n-1], t.stack[:n-1]
	}
}
