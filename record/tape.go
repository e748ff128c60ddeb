package record

import (
	"bytes"
	"time"

	"ptyctl/screen"
)

// A View is what a player shows.
type View uint8

// The views.
const (
	Terminal View = iota // the session's terminal
	Commands             // the commands beside it
)

func (v View) String() string {
	if v == Commands {
		return "commands"
	}
	return "terminal"
}

const (
	// minShown is how long the terminal stays in view before commands may take its place.
	minShown = 500 * time.Millisecond
	// maxPending is how many bytes of commands wait for that.
	maxPending = 64 << 10
	// maxTail is how much of a sequence of the terminal is kept that is cut by a change of the view.
	maxTail = 4 << 10
)

const can = "\x18" // ends a sequence that is not complete

// A tape draws the terminal and the commands beside it for one who sees either of them at a time. A change of the view
// is a comment and one event, which draws all of the other view again; a reader leaves that out to have each of the
// two alone.
type tape struct {
	encoder
	views [2]*screen.Screen // what a player shows of each
	view  View
	moved time.Duration // when the view changed

	tail []byte // the beginning of a sequence, at the end of the terminal's last output

	pending []byte // text of commands that is not shown yet
	start   bool   // it ends with a line end, or with nothing at all
}

func newTape(cols, rows int) *tape {
	return &tape{
		views: [2]*screen.Screen{screen.New(cols, rows), screen.New(cols, rows)}, moved: -minShown, start: true,
	}
}

// show makes v the view.
func (t *tape) show(at time.Duration, v View) {
	if t.view == v {
		return
	}
	t.comment("view " + v.String())
	var redraw []byte
	if len(t.tail) > 0 && v == Commands {
		redraw = append(redraw, can...)
	}
	t.view, t.moved = v, at
	redraw = t.views[v].Redraw(redraw)
	if v == Terminal {
		redraw = append(redraw, t.tail...)
	}
	t.event(at, codeOutput, string(redraw))
}

// redraw draws the view again, after events that could not be written.
func (t *tape) redraw(at time.Duration) {
	v := t.view
	t.view = 1 - v
	t.show(at, v)
}

// terminal draws output of the terminal.
func (t *tape) terminal(at time.Duration, p []byte) {
	t.show(at, Terminal)
	t.output(at, p)
	s := t.views[Terminal]
	_, _ = s.Write(p)
	switch i := bytes.LastIndexByte(p, '\x1b'); {
	case !s.Partial() || len(t.partial) > 0:
		t.tail = t.tail[:0]
	case i >= 0:
		t.tail = append(t.tail[:0], p[i:]...)
	case len(t.tail) > 0:
		t.tail = append(t.tail, p...)
	}
	if len(t.tail) > maxTail { // of a string: what follows is a part of it
		t.tail = append(t.tail[:0], "\x1b]"...)
	}
}

// command draws text of commands, which must be valid UTF-8 and end outside of any sequence.
func (t *tape) command(at time.Duration, text []byte) {
	if len(text) == 0 {
		return
	}
	t.start = text[len(text)-1] == '\n'
	t.pending = append(t.pending, text...)
	if t.view == Commands || len(t.pending) > maxPending || at >= t.due() {
		t.flushCommands(at)
	}
}

// due is when the pending text must be shown.
func (t *tape) due() time.Duration { return t.moved + minShown }

// flushCommands shows the pending text.
func (t *tape) flushCommands(at time.Duration) {
	if len(t.pending) == 0 {
		return
	}
	t.show(at, Commands)
	t.event(at, codeOutput, string(t.pending))
	_, _ = t.views[Commands].Write(t.pending)
	if t.pending = t.pending[:0]; cap(t.pending) > maxPending {
		t.pending = nil
	}
}

// sized reports whether the terminal has this size.
func (t *tape) sized(cols, rows int) bool {
	c, r := t.views[Terminal].Size()
	return c == cols && r == rows
}

// resize changes the size of the terminal.
func (t *tape) resize(at time.Duration, cols, rows int) {
	for _, s := range t.views {
		s.Resize(cols, rows)
	}
	t.event(at, codeResize, sizeText(cols, rows))
}
