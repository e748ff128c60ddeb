package screen

import (
	"iter"
	"slices"
	"time"
	"unicode"
)

// Peek returns the screen as it is now for a caller who waits for something on it, with a hash of all that it shows.
// It counts as no look: versions, and the data of Diff about them, stay as they are. The Version of the snapshot is
// 0. Text that a person cannot see is blank.
func (s *Screen) Peek() (now *Snapshot, hash uint64) {
	now = s.visible()
	s.seen.begin()
	hash = s.seen.rest(now)
	for y := range now.Rows {
		hash = s.seen.mix(hash, s.seen.row(now, y), uint64(y))
	}
	now.Lines = *now.seen()
	return now, hash
}

// visible returns a copy of the screen for readers: the screen, or the last complete frame, without secrets.
func (s *Screen) visible() *Snapshot {
	e := &s.emu
	if s.find != nil {
		if n := e.goesOn(); n > 0 { // a secret may begin there
			cover(e, e.grid, n, s.find)
		}
	}
	var now *Snapshot
	if e.drawing() {
		now = e.hold.frame.clone()
		now.Drawing = true
	} else {
		now = e.snapshot(nil)
	}
	if s.find != nil && now.mask(s.find) { // once: a covered secret is not found again
		cover(e, e.grid, 0, s.find)
		if now.Drawing {
			e.hold.frame.Mask(s.find)
		}
	}
	now.Title = shownTitle(now.Title)
	if e.secrets {
		now.conceal()
	}
	return now
}

// Frames returns how many frames (DECSET 2026) programs have completed.
func (s *Screen) Frames() uint64 { return s.emu.frames }

// FrameEnd returns when the frame that a program draws ends by itself; zero: none is drawn.
func (s *Screen) FrameEnd() time.Time {
	if !s.emu.drawing() {
		return time.Time{}
	}
	return s.emu.hold.since.Add(longestFrame)
}

// At says when the output of the next calls of Write has come, if that was earlier; zero: when Write is called. Set that
// again before the screen is read. A frame ends a second after its beginning has come, however late it is drawn.
func (s *Screen) At(came time.Time) { s.emu.came = came }

// EndFrame ends the frame that a program draws, if it does: nothing more comes.
func (s *Screen) EndFrame() {
	if s.emu.drawing() {
		s.emu.synchronize(false)
	}
}

// Resets returns how often the output has reset the terminal (RIS). Output before the last one has no effect on
// the cells.
func (s *Screen) Resets() uint64 { return s.emu.resets }

// invisible reports whether a person sees nothing of the character of c: it is concealed (SGR 8), or has the colour of
// its background. Terminals show bold text in one of the eight colours in the bright one.
func (c cell) invisible() bool {
	if c.attr()&Conceal != 0 {
		return true
	}
	n, ansi := c.fg().Index()
	return c.fg() != 0 && c.fg() == c.bg() && !(ansi && n < 8 && c.attr()&Bold != 0)
}

// seen returns l with blanks in place of invisible text; l itself if that is nothing.
func (l *Lines) seen() *Lines {
	hidden := func(c cell) bool { return c.invisible() && (!c.empty() || c.isTail()) }
	if !slices.ContainsFunc(l.cells, hidden) {
		return l
	}
	shown := *l
	shown.cells = slices.Clone(l.cells)
	for i, c := range shown.cells {
		if hidden(c) {
			shown.cells[i] = c.style().with(' ')
		}
	}
	return &shown
}

// concealed returns the columns from, to, to excluded, of each text of row y that a person cannot see. Lines and blocks
// are no text: pictures are drawn with them.
func (l *Lines) concealed(y int) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		cells := l.at(y)
		for from := 0; from < len(cells); from++ {
			to, text := from, false
			for ; to < len(cells) && cells[to].invisible(); to++ {
				r := cells[to].char()
				text = text || r >= firstCluster || unicode.In(r, unicode.L, unicode.N)
			}
			if text {
				if a, b := l.trim(y, from, to); !yield(a, b) {
					return
				}
			}
			from = to
		}
	}
}
