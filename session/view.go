package session

import (
	"context"
	"fmt"
	"sync"
	"time"

	"ptyctl/screen"
	"ptyctl/session/access"
	"ptyctl/session/display"
	"ptyctl/session/prompt"
	"ptyctl/session/sizing"
	"ptyctl/session/text"
	"ptyctl/term"
	"ptyctl/vt"
)

// Sanitized counts the sequences and characters removed to make text readable.
type Sanitized = vt.Sanitized

// Lines are a part of the output that is held, line by line.
type Lines = text.Lines

type (
	// A SearchRequest describes a search in the output that is still held.
	SearchRequest = text.SearchRequest
	// A SearchResult has the lines that match.
	SearchResult = text.SearchResult
	// A SearchLine is one line of a SearchResult.
	SearchLine = text.SearchLine
	// A Filter says which lines of an output to return.
	Filter = text.Filter
	// Filtered holds the lines of an output that match.
	Filtered = text.Filtered
)

type (
	// A Screen is the screen as a person at the terminal sees it, and the changes since an earlier one.
	Screen = display.View
	// A ScreenWait is a condition on the screen; see ReadRequest.Screen.
	ScreenWait = display.Wait
	// A ScreenPoint is a place on the screen.
	ScreenPoint = display.Point
)

// Screen returns the screen of the terminal, drawn from all of its output so far, and which rows have changed since the
// version of an earlier call; 0: all of them. It does not wait. After the end of the session it is the last one.
//
// Secrets that were written are asterisks, also where a program has drawn one in pieces or long after the write. Of a
// terminal that is larger than 1000 by 1000, the screen has that size, and longer lines wrap at its edge.
func (s *Session) Screen(ctx context.Context, since uint64) Screen {
	d, _ := s.ServerView().ReadScreen(ctx, ReadRequest{}, since, "screen")
	return d
}

// ReadScreen waits as r says, if r has a condition, and returns the screen as Session.Screen does. The chunk has no
// data: it says how the wait has ended, and with which cursor a read goes on. A screen that meets the wait may be half
// drawn; the rest is waited for as FinishScreen does. The record of the read names the form in which the caller
// shows the screen, for example "screen".
func (v SessionView) ReadScreen(ctx context.Context, r ReadRequest, since uint64, as string) (Screen, Chunk) {
	s := v.s
	began := time.Now()
	r.Tail, r.MaxBytes, r.MaxLines = true, 1, 0 // the output itself is not asked for
	k := sourceOf(s).read(ctx, r)
	if w := r.Screen; k.Reason == ReasonMatched && (w.Shows != nil || w.Cursor.Row > 0) {
		v.FinishScreen(ctx)
		now := sourceOf(s).read(ctx, ReadRequest{Tail: true, MaxBytes: 1, NoWait: true})
		k.Next, k.Buffer, k.EOF = now.Next, now.Buffer, now.EOF
	}
	k.Data, k.Start = nil, k.Next
	d := s.display.View(since)
	s.answers.seen.Store(true)
	s.count.drained.Store(time.Now().UnixNano())
	s.auth.Observe(term.Event{
		Verb: term.VerbRead, Actor: term.ActorFrom(ctx), Size: d.Cols * len(d.Changed), Detail: as,
		Duration: time.Since(began),
	})
	return d, k
}

// Glance returns the screen of the terminal for a person who watches; see [display.Display.Glance]. No one but that
// person notices: it counts neither as a read nor as a look of a caller.
func (v SessionView) Glance(have uint64) (now *screen.Snapshot, version uint64, partial bool) {
	return v.s.display.Glance(have)
}

// Changed returns channels that are closed at the next change of the screen that Glance returns, and of the session's
// state. Call it before the look, so that no change after the look is missed.
func (v SessionView) Changed() (screen, state <-chan struct{}) {
	v.s.life.mu.Lock()
	state = v.s.life.changed
	v.s.life.mu.Unlock()
	return v.s.display.Changed(), state
}

// drawn is how long nothing on a screen must have changed for it to count as drawn, and drawing how long that is waited
// for: a program that always draws is not.
const (
	drawn   = 50 * time.Millisecond
	drawing = 300 * time.Millisecond
)

// FinishScreen waits, for a moment, until the program in the terminal has drawn its frame.
func (v SessionView) FinishScreen(ctx context.Context) {
	sourceOf(v.s).read(ctx, ReadRequest{Tail: true, MaxBytes: 1, Screen: ScreenWait{Stable: drawn}, Timeout: drawing})
}

// view returns the output that is held, as text.
func (s *Session) view() text.View { return text.View{Buffer: s.buf, Cols: s.window.cols()} }

// CleanText returns the output of a command in the terminal, from the start of a line, as text for reading; see
// Chunk.Clean.
func (s *Session) CleanText(output []byte) (clean []byte, removed Sanitized) {
	c := vt.Cleaner{Cols: s.window.cols()}
	return c.From(nil, output)
}

// Lines returns the lines held without the oldest skip, at most n of them; n <= 0: all. It does not wait, and its cost
// depends on the lines returned; see [text.View.Lines].
func (s *Session) Lines(ctx context.Context, skip, n int) Lines {
	l := s.view().Lines(skip, n)
	if l.Last {
		s.count.drained.Store(time.Now().UnixNano())
	}
	s.auth.Observe(term.Event{Verb: term.VerbRead, Actor: term.ActorFrom(ctx), Size: l.Size})
	return l
}

// Search looks for a pattern, line by line, without waiting and without an effect on readers.
func (s *Session) Search(ctx context.Context, r SearchRequest) SearchResult {
	return s.view().Search(ctx, r)
}

// LastLine returns the unfinished last line as a person sees it: at rest, the prompt.
func (s *Session) LastLine() string { return s.lane.LastLine() }

// Waiting returns the question that the terminal seems to ask, judged by its unfinished last line, or that line itself
// if it is no prompt and has not changed for Options.QuietLine; nil: neither.
func (s *Session) Waiting() *term.Waiting {
	line, marks := s.lane.LastLine(), s.window.marks()
	v := prompt.View{
		Line: line, AltScreen: s.window.modes().AltScreen, Pagers: s.Expect().Pagers, Shell: s.prompts.ShellAt(line, ""),
		Prompts: marks.Prompts, AtPrompt: marks.AtPrompt, Asks: s.lane.Asks,
	}
	if v.AltScreen || prompt.Doubtful(line) { // to look at the programs is dear
		v.Front = laneTerminal{s}.Front()
	}
	w := s.prompts.Waiting(v)
	if w == nil {
		w = stalledLine(s, line)
	}
	if w != nil { // the line is of the output, which may show a secret long after it was typed
		masked := *w
		masked.Text = s.display.Mask(w.Text)
		w = &masked
	}
	return w
}

// sightOf returns why a read that waits for the prompt stops now. Otherwise it returns after how long without output it
// may stop; 0: not before there is output.
func sightOf(s *Session) (stop Reason, rest time.Duration) {
	quiet := age(&s.count.lastRx)
	if rest = prompt.LeastRest - quiet; rest > 0 { // to look at the line is dear while output comes
		return "", rest
	}
	p, marks := s.Expect().Prompt, s.window.marks()
	line := s.lane.PromptLine(p)
	v := prompt.View{
		Line: line, End: s.End(), AltScreen: s.window.modes().AltScreen, Prompt: p, Pagers: s.Expect().Pagers,
		Shell: s.prompts.ShellAt(line, ""), Prompts: marks.Prompts, AtPrompt: marks.AtPrompt,
	}
	if v.AltScreen || prompt.Doubtful(line) { // to look at the programs is dear
		v.Front = laneTerminal{s}.Front()
	}
	seen := s.prompts.Sight(v)
	switch {
	case !seen.Prompt && seen.Question == nil:
		return "", 0
	case quiet < seen.Rest:
		return "", seen.Rest - quiet
	case seen.Guessed && (laneTerminal{s}).Front().Reads == term.No: // nothing says when that changes
		return "", max(quiet, prompt.LeastRest)
	case age(&s.count.lastRx) < quiet: // something has come since
		return "", prompt.LeastRest
	case seen.Prompt:
		return ReasonMatched, 0
	}
	return ReasonInput, 0
}

// stalledLine returns the last line if it is unfinished, no prompt, and unchanged for a while: something may wait
// there.
func stalledLine(s *Session, line string) *term.Waiting {
	if age(&s.count.lastRx) < s.o.QuietLine {
		return nil
	}
	w := s.lane.Stands(line)
	if w == nil {
		return nil
	}
	marks := s.window.marks()
	v := prompt.View{Line: line, Prompt: s.Expect().Prompt, Prompts: marks.Prompts, AtPrompt: marks.AtPrompt}
	if s.prompts.Ends(v) {
		return nil
	}
	v.Front = laneTerminal{s}.Front()
	if v.Front.Reads == term.No || s.prompts.Ends(v) {
		return nil
	}
	return w
}

// A window is the near end's: its size, and the modes that the output has switched on.
type window struct {
	mu      sync.Mutex // guards the following
	tracker vt.Tracker
	pty     term.PTY
	resized int64 // the cursor from which on pty's size counts; 0: from the start
}

// track follows the modes that the output switches. It returns how many queries are in p that a terminal may answer.
func (w *window) track(p []byte) (queries int) {
	w.mu.Lock()
	defer w.mu.Unlock() // also if a fault there should end the session
	before := w.tracker.Queries()
	_, _ = w.tracker.Write(p)
	return w.tracker.Queries().Total() - before.Total()
}

// modes returns the modes that the output has switched on.
func (w *window) modes() vt.Modes {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tracker.Modes()
}

// queries returns how many queries of each kind the output has asked.
func (w *window) queries() vt.Queries {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tracker.Queries()
}

// marks returns the marks that the shell has sent around its prompts.
func (w *window) marks() vt.Marks {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tracker.Marks()
}

// cols returns the window's width.
func (w *window) cols() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pty.Cols
}

// detail describes the window for the record; nothing without a terminal.
func (w *window) detail() []string {
	if pty, _ := w.size(); !pty.Disabled {
		return []string{fmt.Sprintf("terminal %dx%d", pty.Cols, pty.Rows)}
	}
	return nil
}

// size returns the window, and the cursor from which on its size counts.
func (w *window) size() (pty term.PTY, since int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pty, w.resized
}

// resize remembers the window's new size, which counts from the cursor at on.
func (w *window) resize(cols, rows int, at int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pty.Cols, w.pty.Rows, w.resized = cols, rows, at
}

// maxCells bounds a window's width and height: more is a mistake, and some devices crash on it.
const maxCells = 10000

// Resize tells the far side the window's new size in character cells. The size that an attached person sets ends when
// no such person has the session's lock any more; the one before it then counts again.
func (s *Session) Resize(ctx context.Context, cols, rows int) (err error) {
	const op = "resize"
	d, end := s.auth.Begin(ctx, term.VerbResize, term.Event{Detail: fmt.Sprintf("%dx%d", cols, rows)}), func() {}
	defer func() {
		d.End(err)
		end()
	}()
	if err := s.life.typing(op); err != nil {
		return err
	}
	if cols < 1 || rows < 1 || cols > maxCells || rows > maxCells {
		return sessionError(op, s.id, term.InvalidArgument,
			fmt.Sprintf("cols and rows must be between 1 and %d; got %d x %d", maxCells, cols, rows))
	}
	epoch, err := d.Permit(ctx, term.Action{})
	if err != nil {
		return err
	}
	release := s.sizing.Begin(ctx)
	switch {
	case release != nil:
		end = release
	case ctx.Err() != nil:
		return &term.Error{
			Op: op, Session: s.id, Kind: term.Canceled, Msg: "canceled while another size was being set", Err: ctx.Err(),
		}
	default:
		return s.life.endedError(op)
	}
	// Another may have taken over during the wait.
	if err := s.lock.StillHeld(op, access.HolderOf(d.Event.Actor), epoch); err != nil {
		return err
	}
	if err := s.sizing.Set(d.Event.Actor, sizing.Size{Cols: cols, Rows: rows}); err != nil {
		return s.life.transportError(op, err)
	}
	return nil
}

// A sizedTerminal is the session as its sizing sees it.
type sizedTerminal struct{ s *Session }

func (t sizedTerminal) Context() context.Context  { return t.s.life.ctx }
func (t sizedTerminal) Lease() (Lease, bool)      { return t.s.Lease() }
func (t sizedTerminal) Opener() term.Actor        { return t.s.o.Origin.Opener }
func (t sizedTerminal) Record(e term.Event) error { return t.s.auth.Record(e) }
func (t sizedTerminal) Observe(e term.Event)      { t.s.auth.Observe(e) }
func (t sizedTerminal) Spawn(f func()) bool       { return t.s.group.spawn("size", f) }

func (t sizedTerminal) Size() sizing.Size {
	pty, _ := t.s.window.size()
	return sizing.Size{Cols: pty.Cols, Rows: pty.Rows}
}

func (t sizedTerminal) Resize(to sizing.Size) error {
	s := t.s
	at := s.End() // output from here on may be drawn for it
	old := t.Size()
	s.display.Resize(to.Cols, to.Rows) // before the far side draws for it
	if err := s.link.Load().Resize(to.Cols, to.Rows); err != nil {
		s.display.Resize(old.Cols, old.Rows)
		return err
	}
	s.window.resize(to.Cols, to.Rows, at)
	return nil
}

// ownPTY returns the window for a connection that takes the place of this one, in which no person is attached.
func ownPTY(s *Session) term.PTY {
	pty, _ := s.window.size()
	own := s.sizing.Own()
	pty.Cols, pty.Rows = own.Cols, own.Rows
	return pty
}

// Signal delivers a signal by name (RFC 4254 section 6.10) to the program at the far end.
func (s *Session) Signal(ctx context.Context, name string) (err error) {
	const op = "signal"
	d := s.auth.Begin(ctx, term.VerbSignal, term.Event{Detail: name})
	defer func() { d.End(err) }()
	if err := s.life.typing(op); err != nil {
		return err
	}
	signaler := s.link.Load().signaler
	if signaler == nil {
		return sessionError(op, s.id, term.Unsupported,
			"this session's protocol delivers no signals; type the key instead (ctrl_c, ctrl_backslash, ctrl_z)")
	}
	if _, err := d.Permit(ctx, term.Action{}); err != nil {
		return err
	}
	if err := signaler.Signal(ctx, name); err != nil {
		return s.life.transportError(op, err)
	}
	return nil
}
