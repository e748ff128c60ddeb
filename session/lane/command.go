package lane

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"ptyctl/session/marker"
	"ptyctl/session/shell"
	"ptyctl/term"
)

// An Outcome is the sign that a command has ended.
type Outcome int

// The outcomes.
const (
	Disconnected Outcome = iota // the terminal ended
	Marked                      // the marker came
	Prompted                    // the far side shows its prompt
	Silent                      // nothing came for a while
)

// A Command is one command for the terminal, from its preparation to its end. Prepare, Type, Follow and Release are
// called in this order.
type Command struct {
	l  *Lane
	r  Request
	id string          // for errors and the record
	x  context.Context // ends at the command's deadline, or when it is canceled
	w  io.Writer       // takes the command's output

	sent bool  // the line went out: later input is for the command; guarded by Lane.mu
	turn *turn // in the queue; nil: it has not queued

	typed
	lines
	follower
	signals
}

// typed is the input for a command.
type typed struct {
	text    string      // the line
	sh      shell.Shell // the reader of the line
	touches int         // how often callers had typed when the line was out
	before  string      // the last line before it
	ahead   bool        // it went out before the prompt had come
	row     string      // the text left of the cursor then
	alt     bool        // the alternate screen was on before
	edited  bool        // a line editor with bracketed paste read the line
}

// A follower is how far the output of a command has been read. The goroutine that follows the command owns it; the
// outcome may be read when that has ended.
type follower struct {
	off    int64 // how far the stream has been read
	taken  bool  // a line end came since: the far side has taken the line
	nested bool  // it waits at the prompt of a shell that it has started
	muted  bool  // further output is from later commands

	outer  []*Command      // the commands that started the shells it runs in
	within *marker.Scanner // finds their markers in the output of a command without a marker; nil: no such markers

	scan *marker.Scanner // nil: no marker; the prompt or silence ends it, and the following are used
	echo marker.Echo
	ends marker.LineEnds

	holding bool   // the unfinished last line goes to held: without marker, and while the command is interrupted
	held    []byte // it may turn out to be the prompt, which is no output

	stall stall // its unfinished last line

	pressed time.Time // when a page was last turned; zero: never
	turned  int64     // how far the stream had been read then
	cut     pageCut

	standing *term.Waiting // see Standing

	outcome Outcome
	lost    int64 // bytes that came too fast to be looked at
}

// signals connect the goroutine that follows a command with the calls that wait for it.
type signals struct {
	answered    chan struct{} // holds a token when a caller has typed since
	interrupted chan struct{} // and this one when that was ctrl_c or ctrl_backslash
	yielded     chan struct{} // closed when the next command may have the terminal
	yield       sync.Once
	pages       atomic.Int32 // turned; see AutoPage
	returned    sync.Once    // the history has learned of the marker

	mu      sync.Mutex // guards the following
	waiting *term.Waiting
	stalled *term.Waiting // the stalled line, or nil
	changed chan struct{} // closed and replaced when waiting changes
}

// Prepare works out the line to type, and waits for its turn if the command queues. Release must follow.
func (l *Lane) Prepare(ctx context.Context, r Request) (c *Command, err error) {
	if r.QuietLine <= 0 {
		r.QuietLine = DefaultQuietLine
	}
	c = &Command{l: l, r: r}
	c.cut.on = r.turnsPages()
	c.answered, c.interrupted = make(chan struct{}, 1), make(chan struct{}, 1)
	c.yielded, c.changed = make(chan struct{}), make(chan struct{})
	if r.Queue { // before anything that takes time, or others that came later would be before us
		c.turn = l.lineUp(min(r.Wait, r.Timeout))
	}
	err = c.prepare(ctx)
	if err == nil && c.turn != nil {
		if err = l.awaitTurn(ctx, c.turn); err == nil {
			err = c.prepare(ctx) // another shell may be there now
		}
	}
	if err != nil {
		l.leave(c.turn)
		return nil, err
	}
	return c, nil
}

// prepare finds out for whom the line is, and makes it.
func (c *Command) prepare(ctx context.Context) (err error) {
	c.sh = c.l.t.ShellAt(ctx, c.r.Asked, c.r.Expected)
	c.text, err = c.line()
	return err
}

// Type takes the terminal, waits for its prompt and types the line. The context x ends with the command, id names the
// command, and w receives its output. If Type returns an error, the terminal is free again.
func (c *Command) Type(ctx, x context.Context, id string, w io.Writer) (bytes int, err error) {
	c.x, c.id, c.w = x, id, w
	if err := c.l.claim(ctx, c); err != nil {
		return 0, err
	}
	if err = awaitReader(ctx, c); err == nil {
		bytes, err = c.send(ctx)
	}
	if err != nil {
		c.Release()
	}
	return bytes, err
}

// awaitReader waits until the terminal is ready, and makes the line for the shell that reads it by then, which may be
// another one than when the command was prepared: a shell that was left shows nothing until the one around it is back.
func awaitReader(ctx context.Context, c *Command) error {
	for {
		if err := c.ready(ctx); err != nil {
			return err
		}
		if j := c.r.JudgedFor; j != "" && j.TakesMarker() {
			if now := c.l.t.ShellAt(ctx, "", ""); now.Class != j {
				return c.l.otherShell(j, now.Class)
			}
		}
		if c.sh.Class == shell.Unknown { // a line without a marker; to look again may be to ask the far side again
			return nil
		}
		was, sh := c.sh.Class, c.l.t.ShellAt(ctx, c.r.Asked, c.r.Expected)
		if sh == c.sh {
			return nil
		}
		c.sh = sh
		text, err := c.line()
		switch {
		case err != nil:
			return err
		case c.Paced(): // line by line, which is begun in another way
			return c.l.otherShell(was, sh.Class)
		}
		c.text = text
	}
}

// otherShell is the error for a line that was made for a shell which does not read the terminal any more.
func (l *Lane) otherShell(was, now shell.Class) error {
	return &term.Error{
		Op: "exec", Session: l.session, Kind: term.Busy, Reason: term.ReasonOtherShell,
		Msg: fmt.Sprintf("the line was made for a shell of class %s, and one of class %s has the terminal now, "+
			"so nothing was typed", was, now),
		Advice: "run it again",
		Facts:  term.Facts{term.Occupied{Channel: l.t.HasChannel()}},
	}
}

// send types the line.
func (c *Command) send(ctx context.Context) (int, error) {
	c.edited, c.row = c.l.t.Modes().BracketedPaste, c.before
	if _, above := c.l.lastLine(); above {
		c.row = ""
	}
	c.enter() // the line may end the shell around it before Type returns
	typed, err := c.l.t.Type(ctx, c.l.history.Discard(c.sh.Class)+c.text+"\r", c.r.Epoch)
	if err != nil {
		return 0, err
	}
	c.off = typed.Cursor
	if c.scan == nil {
		c.echo, c.holding = marker.NewEcho(c.text, c.row, c.l.t.Cols(), c.edited), true
	}
	c.touches = c.l.history.Touches()
	c.l.history.Sent()
	c.l.mu.Lock()
	c.sent = true
	c.l.wake()
	c.l.mu.Unlock()
	return typed.Bytes, nil
}

// Leave gives up the command's place in the queue, if it has one.
func (c *Command) Leave() { c.l.leave(c.turn) }

// Release lets the next command have the terminal.
func (c *Command) Release() {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	if c.l.current == c {
		c.l.current = nil
		c.l.wake()
	}
}

// Shell returns the shell that reads the command's line.
func (c *Command) Shell() shell.Shell { return c.sh }

// Marked reports whether a marker ends the command.
func (f *follower) Marked() bool { return f.scan != nil }

// Pages returns how many pages were turned so far.
func (s *signals) Pages() int { return int(s.pages.Load()) }

// Outcome returns the sign of the command's end, and how many bytes of its output came too fast to be looked at. Call
// it after Follow has returned.
func (f *follower) Outcome() (o Outcome, lost int64) { return f.outcome, f.lost }

// Waiting returns the question that the command seems to wait for, and a channel that is closed when that changes.
func (s *signals) Waiting() (*term.Waiting, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting, s.changed
}

// setWaiting records the question that the command seems to wait for; nil: no question.
func (s *signals) setWaiting(w *term.Waiting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w == s.waiting || w != nil && s.waiting != nil && *w == *s.waiting {
		return
	}
	s.waiting = w
	close(s.changed)
	s.changed = make(chan struct{})
}

// input tells the command that a caller types p, before p goes out.
func (s *signals) input(p []byte) {
	s.setWaiting(nil)
	token := s.answered
	if bytes.ContainsAny(p, "\x03\x1c") {
		token = s.interrupted
	}
	select {
	case token <- struct{}{}:
	default: // one is there already
	}
}
