package session

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"regexp"
	"strings"
	"sync"
	"time"

	"ptyctl/session/output"
	"ptyctl/session/prompt"
	"ptyctl/term"
	"ptyctl/vt"
)

// cleanBack is how far before a chunk an escape sequence, or the line it continues, may have begun.
const cleanBack = 4 << 10

// Sanitized counts the sequences and characters removed to make text readable.
type Sanitized = vt.Sanitized

// Clean returns a chunk of the terminal's output as text for reading: without escape sequences, with overwritten text
// in its last state, and safe to show; see package vt. Cursors go on counting raw bytes.
func (s *Session) Clean(k Chunk) (text []byte, removed Sanitized) {
	c := cleaner(s, k.Start)
	text = c.Append(make([]byte, 0, len(k.Data)), k.Data)
	text = c.Flush(text)
	return text, c.Sanitized()
}

// cleaner makes a Cleaner that has read the bytes held before start.
func cleaner(s *Session, start int64) *vt.Cleaner {
	var before []byte
	if back := min(start, cleanBack); back > 0 {
		held := s.buf.At(start-back, int(back))
		before = held.Data[:min(max(start-held.Start, 0), int64(len(held.Data)))] // as much as is still held
	}
	c := &vt.Cleaner{Cols: s.screen.cols()}
	c.Skip(before)
	return c
}

// CleanText is Clean for the output of a command in the terminal, from the start of a line.
func (s *Session) CleanText(output []byte) (text []byte, removed Sanitized) {
	c := vt.Cleaner{Cols: s.screen.cols()}
	return c.From(nil, output)
}

// LastLine returns the unfinished last line as a person sees it: at rest, the prompt.
func (s *Session) LastLine() string { return s.lane.LastLine() }

// Waiting returns the question that the terminal seems to ask, judged by its unfinished last line; nil: none that is
// known.
func (s *Session) Waiting() *term.Waiting {
	if s.screen.modes().AltScreen {
		return &term.Waiting{Kind: prompt.Editor, Text: s.lane.LastLine()}
	}
	line := s.lane.LastLine()
	if w := prompt.Waits(line, s.Expect().Pagers); w != nil {
		return w
	}
	if w := prompt.Asks(line); w != nil {
		return w
	}
	return s.stands(line)
}

// stands returns the last line if it is unfinished, no prompt, and unchanged for a while: something may wait there.
func (s *Session) stands(line string) *term.Waiting {
	if strings.TrimSpace(line) == "" || age(&s.count.lastRx) < s.o.QuietLine {
		return nil
	}
	marks := s.screen.marks()
	v := prompt.View{Line: line, Prompt: s.Expect().Prompt, Prompts: marks.Prompts, AtPrompt: marks.AtPrompt}
	if s.prompts.Ends(v) {
		return nil
	}
	v.Front = laneTerminal{s}.Front()
	if v.Front.Reads == term.No || s.prompts.Ends(v) {
		return nil
	}
	return &term.Waiting{Kind: prompt.Unknown, Text: line}
}

// Lines are a part of the output that is held, line by line.
type Lines struct {
	// All gives the number of each line, counted from the oldest one held, from 1, and its text, clean as Clean has it and
	// without its line end. The text is valid until the next one. It may be ranged over once.
	All iter.Seq2[int, []byte]

	Total   int   // lines held, an unfinished last one included
	Dropped int64 // bytes before the oldest line that are no longer held
}

// Lines returns the lines held without the oldest skip, at most n of them; n <= 0: all. It does not wait, and its cost
// depends on the lines returned: reading the output page by page takes as long as reading it at once.
//
// A line ends where the far side sent LF. Text that the far side drew in other places before that, as full-screen
// programs do, is in the same line, between blanks.
func (s *Session) Lines(ctx context.Context, skip, n int) Lines {
	data, start, st := s.buf.Lines(skip, n)
	size := len(data)
	if end := start + int64(size); end == st.End {
		s.count.drained.Store(time.Now().UnixNano())
		if !st.Closed { // the rest of a rune is on its way
			data = data[:len(data)-output.PartialRune(data)]
		}
	}
	if start == st.Start && start > 0 {
		data = output.DropRuneRest(data)
	}
	s.auth.Observe(term.Event{Verb: term.VerbRead, Actor: term.ActorFrom(ctx), Size: size})
	c := cleaner(s, start)
	return Lines{
		All:     func(yield func(int, []byte) bool) { eachLine(c, max(skip, 0)+1, data, yield) },
		Total:   st.Lines,
		Dropped: st.Start,
	}
}

// eachLine yields the lines of data; number is that of the first.
func eachLine(c *vt.Cleaner, number int, data []byte, yield func(int, []byte) bool) {
	var text []byte
	for ; len(data) > 0; number++ {
		end := bytes.IndexByte(data, '\n') + 1
		if end == 0 {
			end = len(data)
		}
		line := data[:end]
		data = data[end:]
		text = cleanLine(c, text[:0], line, len(data) == 0)
		if !yield(number, text) {
			return
		}
	}
}

// cleanLine appends the text of one line to dst, without its line end. last says that nothing follows it.
func cleanLine(c *vt.Cleaner, dst, line []byte, last bool) []byte {
	dst = c.Append(dst, line)
	if last {
		dst = c.Flush(dst)
	}
	dst = bytes.TrimSuffix(dst, newline)
	for i := range dst {
		if dst[i] == '\n' {
			dst[i] = ' '
		}
	}
	return dst
}

var newline = []byte{'\n'}

// maxSearchLine is how much of one line a search returns.
const maxSearchLine = 2000

// A SearchRequest says what to look for in the output that is still held.
//
// Cursors count raw bytes, as those of Read do.
type SearchRequest struct {
	Pattern *regexp.Regexp
	Cursor  int64 // where to begin; a SearchResult.Next to go on; 0: the oldest output held
	Context int   // lines to return before and after each match
	Max     int   // most matches to return; 0: 50
	Clean   bool  // look in clean text, as Session.Clean has it, and return that
}

// A SearchLine is one line of the output.
type SearchLine struct {
	Number int64  // counted from the oldest line held, from 1
	Cursor int64  // of its first byte
	Text   []byte // without its line end, cut to 2,000 bytes
	Match  bool   // false: it is there for context
}

// A SearchResult holds the lines found, in order, each once.
type SearchResult struct {
	Lines   []SearchLine
	Matches int
	Next    int64 // cursor to go on from; the end of the output when More is false
	More    bool  // there are further matches
	Dropped int64 // bytes between Cursor and the oldest byte held
}

// Search looks for a pattern, line by line, without waiting and without an effect on readers.
//
// It looks at all that is held, from the oldest byte, because the numbers of lines count from there. Only lines that
// begin at Cursor or later can match.
func (s *Session) Search(ctx context.Context, r SearchRequest) SearchResult {
	setDefault(&r.Max, 50)
	all := s.buf.At(0, 0)
	from := max(r.Cursor, all.Start)
	res := SearchResult{Next: all.Next, Dropped: max(all.Start-max(r.Cursor, 0), 0)}
	var clean *vt.Cleaner
	if r.Clean {
		clean = cleaner(s, all.Start)
	}
	var before []SearchLine // the last lines not yet returned
	after := 0              // how many of the following lines are context
	cursor, number := all.Start, int64(0)
	for rest := all.Data; len(rest) > 0 && ctx.Err() == nil; {
		line, tail, ended := bytes.Cut(rest, []byte("\n"))
		number++
		text := bytes.TrimSuffix(line, []byte("\r"))
		if r.Clean {
			text = cleanLine(clean, nil, rest[:len(rest)-len(tail)], len(tail) == 0)
		}
		l := SearchLine{Number: number, Cursor: cursor, Text: text[:min(len(text), maxSearchLine)]}
		size := int64(len(line))
		if ended {
			size++
		}
		begins := cursor >= from
		cursor, rest = cursor+size, tail
		l.Match = begins && r.Pattern.Match(text)
		switch {
		case l.Match && res.Matches == r.Max:
			res.More, res.Next = true, l.Cursor
			return res
		case l.Match:
			res.Matches++
			res.Lines = append(append(res.Lines, before...), l)
			before, after = nil, r.Context
		case after > 0:
			after--
			res.Lines = append(res.Lines, l)
		case r.Context > 0:
			if before = append(before, l); len(before) > r.Context {
				before = before[1:]
			}
		}
	}
	return res
}

// A screen is the window at the near end: its size, and the modes that the output has switched on.
type screen struct {
	mu      sync.Mutex // guards the following
	tracker vt.Tracker
	pty     term.PTY
	resized int64 // the cursor from which on pty's size counts; 0: from the start
}

// track follows the modes that the output switches.
func (w *screen) track(p []byte) {
	w.mu.Lock()
	defer w.mu.Unlock() // also if a fault there should end the session
	_, _ = w.tracker.Write(p)
}

// modes returns the modes that the output has switched on.
func (w *screen) modes() vt.Modes {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tracker.Modes()
}

// marks returns what the shell has said of its prompts.
func (w *screen) marks() vt.Marks {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tracker.Marks()
}

// cols returns the window's width.
func (w *screen) cols() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pty.Cols
}

// size returns the window, and the cursor from which on its size counts.
func (w *screen) size() (pty term.PTY, since int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pty, w.resized
}

// resize remembers the window's new size, which counts from the cursor at on.
func (w *screen) resize(cols, rows int, at int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pty.Cols, w.pty.Rows, w.resized = cols, rows, at
}

// maxCells bounds a window's width and height: more is a mistake, and some devices crash on it.
const maxCells = 10000

// Resize tells the far side the window's new size in character cells.
func (s *Session) Resize(ctx context.Context, cols, rows int) (err error) {
	const op = "resize"
	d := s.auth.Begin(ctx, term.VerbResize, term.Event{Detail: fmt.Sprintf("%dx%d", cols, rows)})
	defer func() { d.End(err) }()
	if err := s.life.alive(op); err != nil {
		return err
	}
	if cols < 1 || rows < 1 || cols > maxCells || rows > maxCells {
		return &term.Error{
			Op:      op,
			Session: s.id,
			Kind:    term.InvalidArgument,
			Msg:     fmt.Sprintf("cols and rows must be between 1 and %d; got %d x %d", maxCells, cols, rows),
		}
	}
	if _, err := d.Permit(ctx, term.Action{}); err != nil {
		return err
	}
	at := s.End() // what comes from here on may be drawn for it
	if err := s.link.Load().Resize(cols, rows); err != nil {
		return s.life.transportError(op, err)
	}
	s.screen.resize(cols, rows, at)
	return nil
}

// Signal delivers a signal by name (RFC 4254 section 6.10) to the program at the far end.
func (s *Session) Signal(ctx context.Context, name string) (err error) {
	const op = "signal"
	d := s.auth.Begin(ctx, term.VerbSignal, term.Event{Detail: name})
	defer func() { d.End(err) }()
	if err := s.life.alive(op); err != nil {
		return err
	}
	signaler := s.link.Load().signaler
	if signaler == nil {
		return &term.Error{
			Op:      op,
			Session: s.id,
			Kind:    term.Unsupported,
			Msg:     "this session's protocol delivers no signals; type the key instead (ctrl_c, ctrl_backslash, ctrl_z)",
		}
	}
	if _, err := d.Permit(ctx, term.Action{}); err != nil {
		return err
	}
	if err := signaler.Signal(ctx, name); err != nil {
		return s.life.transportError(op, err)
	}
	return nil
}
