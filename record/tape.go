package record

import (
	"bytes"
	"time"
	"unicode/utf8"

	"ptyctl/screen"
)

// A View is the picture of a player.
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

// maxBehind is how much output waits in memory to be drawn.
const maxBehind = 256 << 10

// keptBytes is how much memory for that an idle recording keeps.
const keptBytes = 64 << 10

// A tapeReader reads the recorded bytes.
type tapeReader interface {
	// settle writes the queued output, and returns the size of the file; ok is false if it cannot be written now.
	settle() (size int64, ok bool)
	// from returns the events from an offset on.
	from(offset int64) (*Reader, error)
}

const can = "\x18" // ends a sequence that is not complete

// A tape draws the terminal and the commands beside it for one who sees either of them at a time. A change of the view
// is a comment and one event, which draws all of the other view again; a reader leaves that out to have each of the
// two alone.
type tape struct {
	encoder
	views [2]*screen.Screen // the screen of each view in a player; nil: no command yet
	view  View
	moved time.Duration // when the view changed

	// Output of the terminal is drawn on its screen when that is needed, which in most recordings is never: the part
	// of the file from back on if that is not 0, else behind.
	behind []byte
	back   int64
	file   tapeReader // nil: written data cannot be read back
	end    []byte     // of the terminal's output, from the last ESC on; more than maxTail bytes of it are not all there

	pending []byte // text of commands that is not shown yet
	start   bool   // it ends with a line end, or with nothing at all
}

func newTape(cols, rows int) *tape {
	return &tape{
		views: [2]*screen.Screen{Terminal: screen.New(cols, rows)}, moved: -minShown, start: true,
	}
}

// show makes v the view.
func (t *tape) show(at time.Duration, v View) {
	if t.view == v {
		return
	}
	t.catchUp()
	t.comment("view " + v.String())
	var redraw []byte
	tail := t.tail()
	if len(tail) > 0 && v == Commands {
		redraw = append(redraw, can...)
	}
	t.view, t.moved = v, at
	redraw = t.views[v].Redraw(redraw)
	if v == Terminal {
		redraw = append(redraw, tail...)
	}
	t.event(at, codeOutput, string(redraw))
}

// redraw draws all again, after events that could not be written. The terminal's picture is written as output of the
// terminal, not as a redrawing: a reader of the terminal alone has missed the output before it.
func (t *tape) redraw(at time.Duration) {
	v := t.view
	t.catchUp()
	t.comment("view " + Terminal.String())
	t.event(at, codeOutput, "") // the one that a reader leaves out
	t.event(at, codeOutput, can+string(t.views[Terminal].Redraw(nil))+string(t.tail()))
	t.view, t.moved = Terminal, at
	t.show(at, v)
}

// terminal draws output of the terminal.
func (t *tape) terminal(at time.Duration, p []byte) {
	t.show(at, Terminal)
	if len(t.behind)+len(p) > maxBehind {
		t.fallBehind()
	}
	t.output(at, p)
	if t.back == 0 {
		t.behind = append(t.behind, p...)
	}
	if bytes.IndexByte(p, '\x1b') >= 0 { // faster than a search from the end if p has no ESC
		p = p[bytes.LastIndexByte(p, '\x1b'):]
		t.end = t.end[:0]
	} else if len(t.end) == 0 {
		return
	}
	t.end = append(t.end, p[:min(len(p), maxTail+1-len(t.end))]...)
}

// fallBehind leaves output that is not drawn yet to the file, if that can be read.
func (t *tape) fallBehind() {
	if t.back == 0 {
		t.catchUp()
		if t.file != nil {
			if size, ok := t.file.settle(); ok {
				t.back = size
			}
		}
	}
	t.behind = t.behind[:0]
}

// catchUp draws the output that was not.
func (t *tape) catchUp() {
	s := t.views[Terminal]
	if t.back > 0 {
		t.file.settle()
	}
	if t.back > 0 { // or a write has failed
		if r, err := t.file.from(t.back); err == nil {
			t.back = 0
			t.replay(r)
			t.behind = t.behind[:0]
		}
		t.back = 0
	}
	_, _ = s.Write(t.behind[s.Skip(t.behind):]) // but nothing that scrolls away unseen
	if t.behind = t.behind[:0]; cap(t.behind) > keptBytes {
		t.behind = nil
	}
}

// shed frees memory that is not needed while nothing comes.
func (t *tape) shed() {
	if len(t.lines) == 0 && cap(t.lines) > keptBytes {
		t.lines = nil
	}
	if t.back > 0 {
		t.behind = nil // it is in the file, too
	} else {
		t.catchUp()
	}
}

// replay draws output of the terminal again.
func (t *tape) replay(r *Reader) {
	for e, err := r.Next(); err == nil; e, err = r.Next() {
		if e.Code == codeOutput && e.View == Terminal && !e.Redraw {
			_, _ = t.views[Terminal].Write([]byte(e.Text))
		}
	}
}

// unwritten draws lines that could not be written, and all before them, because the file does not have them.
func (t *tape) unwritten(lines []byte) {
	if t.back == 0 {
		return
	}
	if r, err := t.file.from(t.back); err == nil {
		t.replay(r)
	}
	t.replay(lineReader(bytes.NewReader(lines)))
	t.back, t.behind = 0, t.behind[:0]
}

// tail returns the beginning of a sequence, at the end of the terminal's output. Requires that all is drawn.
func (t *tape) tail() []byte {
	if !t.views[Terminal].Partial() || len(t.partial) > 0 {
		return nil
	}
	if 0 < len(t.end) && len(t.end) <= maxTail {
		return t.end
	}
	return []byte("\x1b]") // of a string: the following is a part of it
}

// rest draws U+FFFD for an unfinished character of the terminal.
func (t *tape) rest(at time.Duration) {
	if len(t.partial) == 0 {
		return
	}
	t.show(at, Terminal)
	t.bad += int64(len(t.partial))
	t.partial = nil
	t.event(at, codeOutput, string(utf8.RuneError))
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
	if t.views[Commands] == nil {
		t.views[Commands] = screen.New(t.views[Terminal].Size())
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
	t.catchUp()
	for _, s := range t.views {
		if s != nil {
			s.Resize(cols, rows)
		}
	}
	t.event(at, codeResize, sizeText(cols, rows))
}
