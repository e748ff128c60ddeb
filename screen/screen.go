package screen

import "ptyctl/vt"

// The sizes that a screen may have. A caller's wish is brought within them.
const (
	MaxCols = 1000
	MaxRows = 1000
)

// A Screen is a terminal that is not shown: Write takes the output of a program, and Snapshot
// returns the picture that a person would see.
type Screen struct {
	parser vt.Parser
	emu    emulator
	seen   seen
	find   func(text []byte) [][2]int // of Hide
}

// New returns a blank screen.
func New(cols, rows int) *Screen {
	s := new(Screen)
	s.emu.history = new(history)
	s.emu.init(newGrid(clamp(cols, rows)))
	return s
}

func clamp(cols, rows int) (c, r int) { return max(1, min(cols, MaxCols)), max(1, min(rows, MaxRows)) }

// Write draws the next piece of the output, which may end anywhere, also within a sequence or
// a character. It takes all of p and never fails.
func (s *Screen) Write(p []byte) (int, error) {
	e := &s.emu
	for t, rest := s.parser.Next(p); t != nil; t, rest = s.parser.Next(rest) {
		e.apply(t)
	}
	return len(p), nil
}

// Work returns about how many cells the output since the last call has erased, moved or copied, beside those in which it
// has put characters. Some sequences of a few bytes do that with a whole screen. A caller can stop drawing output that is
// made to be costly.
func (s *Screen) Work() int {
	e := &s.emu
	n := e.work
	e.work = 0
	if e.main != nil {
		n += e.main.work
		e.main.work = 0
	}
	return n
}

// Resize changes the size, as a person does who drags a window's corner. On the main screen,
// lines above the prompt wrap at the new width.
func (s *Screen) Resize(cols, rows int) {
	if s.find != nil {
		s.emu.coverAll(s.find)
	}
	s.emu.resize(clamp(cols, rows))
}

// Size returns the size.
func (s *Screen) Size() (cols, rows int) { return s.emu.cols, s.emu.rows }

// Snapshot returns the screen as it is now.
func (s *Screen) Snapshot() *Snapshot { return s.Diff(0).Snapshot }

// Scrollback returns the rows that left the top of the main screen last, the oldest first: at
// most 200, and at most 64 KiB.
func (s *Screen) Scrollback() *Lines {
	e := &s.emu
	if s.find != nil { // a secret may go on below
		e.coverAll(s.find)
	}
	l := new(Lines)
	l.reset(e.cols, e.history.count)
	var cells []cell
	for i := range e.history.count {
		var in info
		cells, in = unpack(cells[:0], e.history.at(i), func(text []byte, style cell) cell {
			l.clusters = append(l.clusters, string(text))
			return style.with(rune(firstCluster + len(l.clusters) - 1))
		})
		l.add(cells, in, new(texts), new(texts))
	}
	if s.find != nil {
		l.Mask(s.find)
	}
	l.conceal()
	return l
}

// Partial reports whether the output so far ends within a sequence or a character.
func (s *Screen) Partial() bool { return !s.parser.Between() }

// Drawing reports whether a program is in the middle of a frame, so that the snapshot is of
// the frame before it. It ends by itself after a second.
func (s *Screen) Drawing() bool { return s.emu.drawing() }

// Replies returns the answers to the questions in the output since the last call, or nil. The owner of the terminal's
// input decides whether to send them. They are of a fixed, harmless set, and at most about 1 KiB of them is kept.
func (s *Screen) Replies() []byte {
	b := s.emu.replies.bytes
	s.emu.replies.bytes = nil
	return b
}
