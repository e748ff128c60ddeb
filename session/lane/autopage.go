package lane

import (
	"bytes"
	"regexp"
	"slices"
	"time"

	"ptyctl/internal/lazyregexp"
	"ptyctl/session/prompt"
	"ptyctl/term"
)

// An AutoPage lets a command in the terminal turn the pages of a pager that Request.Pagers knows. No guess is
// enough for it: a pager that is merely recognised is never answered.
type AutoPage struct {
	Key string // one of PageKeys; empty: space. At (END), where there is no further page, it is q
	Max int    // most pages for one command, at most MaxPages; 0: none
}

// The bounds of AutoPage.Max.
const (
	DefaultPages = 100 // if the caller names no other
	MaxPages     = 10000
)

// PageKeys returns the keys that may turn a page: the next page, the next line, and the end.
func PageKeys() []string { return []string{"space", "enter", "q"} }

var pageKeys = map[string]string{"": " ", "space": " ", "enter": "\r", "q": "q"}

// lastPage matches the last page of less, more and similar pagers. There, less takes no key but q, and the more of
// util-linux answers every other key with a blank line.
var lastPage = lazyregexp.New(`\(END\) *$`)

// pageWait is how long a pager may take to react to its key before it counts as waiting for the caller.
const pageWait = 3 * time.Second

// await handles a command that seems to wait. If w is a pager, it turns the page and resets still to the time of the
// next check; every other question waits for the caller's answer. If rest is not 0, the next check is after that time.
func (c *Command) await(w *term.Waiting, rest time.Duration, still *time.Timer) {
	if turn := c.turnPage(w); turn > 0 {
		rest = turn
	}
	if rest > 0 {
		still.Reset(rest)
		return
	}
	if w != nil {
		c.show()
		_, _ = c.w.Write(c.cut.flush())
	}
	c.asks(w)
}

// turnPage presses the key if w is a pager for it, and returns how long to wait for the effect; 0: it is not for us.
func (c *Command) turnPage(w *term.Waiting) time.Duration {
	l, p := c.l, c.r.AutoPage
	if !c.r.turnsPages() || w != nil && w.Kind != prompt.Pager || c.scan != nil && !c.scan.Started() {
		return 0
	}
	before, pager, ok := c.findPager(l.LastLine())
	// A careless pattern must not answer a question.
	if q := prompt.Waits(pager, nil); q != nil && q.Kind != prompt.Pager {
		ok = false
	}
	switch {
	case !ok:
		return 0
	case l.out.Stat().End > c.off: // something has come since the line was looked at
		return quietStop
	case !c.pressed.IsZero() && !c.newLine():
		return pageWait - time.Since(c.pressed)
	case c.Pages() >= min(p.Max, MaxPages):
		return 0
	}
	// A caller who types holds the token. The question is then theirs to answer, and a key of ours must not land in
	// their input.
	release, ok := l.t.Hold()
	if !ok {
		return 0
	}
	key := pageKeys[p.Key]
	if lastPage.MatchString(pager) {
		key = pageKeys["q"]
	}
	if key == "" || !c.press(key, "to turn a page for "+c.id, release) {
		release()
		return 0
	}
	c.pressed, c.turned = time.Now(), c.off
	c.cut.turn(before)
	c.pages.Add(1)
	return pageWait
}

// findPager splits the last line into the output before the pager and the pager itself. The pager must start the line,
// or a row of it: FRRouting ends a page in the middle of a line wider than the terminal, without LF.
func (c *Command) findPager(line string) (before, pager string, ok bool) {
	matches := func(text string) bool {
		return slices.ContainsFunc(c.r.Pagers, func(re *regexp.Regexp) bool { return re.MatchString(text) })
	}
	if line == "" || matches(line) {
		return "", line, line != ""
	}
	before, pager = c.l.lastRow(line)
	return before, pager, before != "" && matches(pager)
}

// newLine reports whether a line has begun since a page was last turned: the pager before it is gone.
func (c *Command) newLine() bool {
	from := max(c.turned, c.off-lineBack)
	return bytes.IndexByte(c.l.out.At(from, int(c.off-from)).Data, '\n') >= 0
}
