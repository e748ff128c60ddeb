package session

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"time"

	"ptyctl/session/prompt"
	"ptyctl/term"
)

// An AutoPage lets a command in the terminal turn the pages of a pager that Expect.Pagers knows. Nobody's guess is
// enough for it: a pager that Waiting merely recognises is never answered.
type AutoPage struct {
	Key string // one of PageKeys; empty: space. At (END), where there is no further page, it is q
	Max int    // most pages for one command, at most MaxPages; 0: none
}

// The bounds of AutoPage.Max.
const (
	DefaultPages = 100 // for who names no other
	MaxPages     = 10000
)

// PageKeys returns the keys that may turn a page: the next page, the next line, and the end.
func PageKeys() []string { return []string{"space", "enter", "q"} }

var pageKeys = map[string]string{"": " ", "space": " ", "enter": "\r", "q": "q"}

// lastPage is what less, more and their kin show when there is no further page. less then takes no key but q, and the
// more of util-linux answers any other with a blank line for ever.
var lastPage = regexp.MustCompile(`\(END\) *$`)

// pageWait is how long a pager may take to react to its key before it counts as waiting for somebody.
const pageWait = 3 * time.Second

// turnsPages reports whether e lets pages be turned.
func (e Expect) turnsPages() bool {
	return e.AutoPage != nil && e.AutoPage.Max > 0 && len(e.Pagers) > 0
}

// await is told what the command seems to wait for. A page is turned, and then still is set for the time when there
// is something to look at; for anything else somebody has to answer.
func (t *typedRun) await(w *term.Waiting, still *time.Timer) {
	if rest := t.turnPage(w); rest > 0 {
		still.Reset(rest)
		return
	}
	if w != nil {
		t.show()
		_, _ = t.x.stdout.Write(t.cut.flush())
	}
	t.asks(w)
}

// turnPage presses the key if w is a pager for it, and returns how long to wait for the effect; 0: it is not for us.
func (t *typedRun) turnPage(w *term.Waiting) time.Duration {
	s, x, e := t.s, t.x, t.x.expect
	if !e.turnsPages() || w != nil && w.Kind != prompt.Pager || t.scan != nil && !t.scan.Started() {
		return 0
	}
	before, pager, ok := t.findPager(s.lastLine())
	if q := prompt.Waits(pager, nil); q != nil && q.Kind != prompt.Pager { // a careless pattern must not answer a question
		ok = false
	}
	switch {
	case !ok:
		return 0
	case s.End() > t.off: // something has come since the line was looked at
		return quietStop
	case !t.pressed.IsZero() && !t.newLine():
		return pageWait - time.Since(t.pressed)
	case int(x.pages.Load()) >= min(e.AutoPage.Max, MaxPages):
		return 0
	}
	// Whoever types holds the token. Then what stands there is theirs to answer; and no key lands in what they type.
	select {
	case s.writing <- struct{}{}:
	default:
		return 0
	}
	release := func() { <-s.writing }
	key := pageKeys[e.AutoPage.Key]
	if lastPage.MatchString(pager) {
		key = pageKeys["q"]
	}
	if key == "" || !t.mayPress(key, "to turn a page for "+x.id) {
		release()
		return 0
	}
	t.pressed, t.turned = time.Now(), t.off
	t.cut.turn(before)
	x.pages.Add(1)
	s.press(holderOf(t.actor), key, release)
	return pageWait
}

// findPager splits the last line into what stands before the pager and the pager itself. It stands at the start of the
// line, or of a row: FRRouting ends a page in the middle of a line that is wider than the terminal, without LF.
func (t *typedRun) findPager(line string) (before, pager string, ok bool) {
	matches := func(text string) bool {
		return slices.ContainsFunc(t.x.expect.Pagers, func(re *regexp.Regexp) bool { return re.MatchString(text) })
	}
	if line == "" || matches(line) {
		return "", line, line != ""
	}
	before, pager = t.s.lastRow(line)
	return before, pager, before != "" && matches(pager)
}

// newLine reports whether a line has begun since a page was last turned: the pager before it is gone.
func (t *typedRun) newLine() bool {
	from := max(t.turned, t.off-lineBack)
	return bytes.IndexByte(t.s.buf.At(from, int(t.off-from)).Data, '\n') >= 0
}

// A pageCut takes the line of a pager whose page was turned, and what erases it, out of the output. The zero value
// passes everything on.
type pageCut struct {
	on     bool
	wiping bool   // a page was turned: line is what erases the pager, so far
	before string // what stood on the line before the pager
	over   bool   // what follows is written over the pager, and may erase the rest of it behind itself
	line   []byte // the unfinished last line, held back: it may turn out to be a pager's
}

// strip takes output, and returns what may be passed on. Line ends are LF.
func (c *pageCut) strip(p []byte) []byte {
	if !c.on {
		return p
	}
	c.line = append(c.line, p...)
	if c.wiping {
		n, blank, more := wiped(c.line)
		if more && len(c.line) < lineBack {
			return nil
		}
		c.over = n > 0 && !blank
		c.line = c.unwiped(n)
	}
	end := bytes.LastIndexByte(c.line, '\n') + 1
	if len(c.line)-end > lineBack { // too long for a pager's
		end = len(c.line)
	}
	out := bytes.Clone(c.line[:end])
	c.line = append(c.line[:0], c.line[end:]...)
	if c.over && end > 0 {
		c.over = false
		first, rest, _ := bytes.Cut(out, []byte("\n"))
		if text, ok := bytes.CutSuffix(first, []byte("\x1b[K")); ok { // EL
			out = slices.Concat(text, []byte("\n"), rest)
		}
	}
	return out
}

// turn drops the line held back, which is the pager's, but for what stands before it.
func (c *pageCut) turn(before string) { c.wiping, c.before, c.line = true, before, nil }

// unwiped returns the line without the n bytes that erase the pager, which are all there.
func (c *pageCut) unwiped(n int) []byte {
	if c.before != "" && n > 0 && c.line[n-1] == '\n' { // it ends that line, too
		n--
	}
	line := append([]byte(c.before), c.line[n:]...)
	c.wiping, c.before = false, ""
	return line
}

// flush returns what is held back.
func (c *pageCut) flush() []byte {
	out := c.line
	if c.wiping {
		n, _, _ := wiped(out)
		out = c.unwiped(n)
	}
	c.over, c.line = false, nil
	return out
}

// stop ends the holding back.
func (c *pageCut) stop() []byte {
	c.on = false
	return c.flush()
}

// wiped returns how much of p, which follows the key, erases the pager's line: backspaces, carriage returns, blanks
// and control sequences. Blanks behind the last of the others belong to the next line. blank: it leaves nothing of the
// pager to be seen. more: p may not be all of it.
//
// A pager that erases nothing ends its line with LF, which then is its own; behind an erasure it is a blank line of
// the output.
func wiped(p []byte) (n int, blank, more bool) {
	drawn := false // blanks, after which nothing has moved back
	for i := 0; i < len(p); {
		switch p[i] {
		case '\b', '\r':
			i++
			n, blank, drawn = i, blank || drawn, false
		case ' ':
			drawn = true
			i++
		case 0, '\a':
			i++
		case '\x1b':
			size, final := controlSequence(p[i:])
			switch {
			case size == 0:
				return n, blank, true
			case strings.IndexByte("KJPX", final) >= 0: // EL, ED, DCH, ECH
				blank = true
				n = i + size
			case strings.IndexByte("DG", final) >= 0: // CUB, CHA
				n, blank, drawn = i+size, blank || drawn, false
			case final != 'm': // SGR; it may already be the next line's
				return n, blank, false
			}
			i += size
		case '\n':
			if !blank && !drawn {
				n = i + 1
			}
			return n, true, false
		default:
			return n, blank, false
		}
	}
	return n, blank, true
}

// controlSequence returns the length and the final byte of the control sequence (ECMA-48, 5.4) that p, which begins
// with ESC, begins with. The length is 0 if p ends before it does; the final byte is 0 if there is none.
func controlSequence(p []byte) (size int, final byte) {
	for i, c := range p[1:] {
		switch {
		case i == 0 && c != '[', c < ' ', c > '~':
			return 1, 0
		case i > 0 && c >= '@':
			return i + 2, c
		}
	}
	return 0, 0
}
