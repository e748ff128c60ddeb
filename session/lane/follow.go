package lane

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"ptyctl/session/prompt"
	"ptyctl/term"
)

const (
	// quietPrompt is how long a question must be unchanged before a result is returned because of it.
	quietPrompt = 150 * time.Millisecond

	// quietForm is the same for a line that only has the form of a question: a program may print it before it works.
	quietForm = 500 * time.Millisecond

	// quietSign is the same for a prompt that differs from a report only by its sign.
	quietSign = time.Second

	// answerWait is how long an answered question may stay there before it counts as asked again.
	answerWait = 1 * time.Second

	// latePrompt is the same for the prompt that was due before the line was typed: a shell on a busy machine may take
	// as long to read the line.
	latePrompt = 5 * time.Second

	// defaultQuiet is how long a device must be quiet before its answer counts as complete, if the caller gave
	// neither a time nor a prompt to go by.
	defaultQuiet = 2 * time.Second

	// followPiece is how much of the stream is looked at in one go.
	followPiece = 256 << 10
)

// Follow reads the stream until the command has ended.
func (c *Command) Follow() (term.Exit, error) {
	defer func() {
		c.emit(c.undecided())
		c.emit(c.cut.stop())
		c.letGo(false)
	}()
	quiet := quietPrompt
	if c.scan == nil {
		quiet = quietStop
	}
	still := time.NewTimer(quiet)
	defer still.Stop()
	idle := time.NewTimer(c.quietTime())
	defer idle.Stop()
	if c.quietTime() == 0 {
		idle.Stop()
	}
	stand := time.NewTimer(c.r.QuietLine + quietStop)
	defer stand.Stop()
	anew := func() { // the last line is another one, or may be
		c.moves()
		stand.Reset(c.r.QuietLine + quietStop)
		c.stall.look, c.stall.doubts = 0, 0
	}
	interrupted := false
	for {
		changed := c.l.out.Changed()
		end := c.l.out.Stat().End
		select {
		case <-c.interrupted: // looked for once end is known: no effect of the key comes before end
			interrupted = true
		default:
		}
		if interrupted {
			c.ahead = false // a prompt answers the key
			if e, ok := c.settled(c.x, interruptGrace*3); ok {
				return e, nil
			}
			interrupted = false
			still.Reset(quiet)
			continue
		}
		if c.advance(end) {
			still.Reset(quiet)
			anew()
			if c.quietTime() > 0 {
				idle.Reset(c.quietTime())
			}
		}
		if c.ended() {
			return c.marked(), nil
		}
		if c.left() {
			return c.leftShell(), nil
		}
		if c.l.out.Stat().Closed {
			return c.closed(), nil
		}
		select {
		case <-changed:
		case <-still.C:
			if c.prompted() {
				return c.atEnd(), nil
			}
			w, rest := c.question()
			if w != nil && w.Kind == prompt.Command && prompt.LeavesShell(c.r.Command) {
				return c.atEnd(), nil
			}
			c.await(w, rest, still)
		case <-idle.C:
			switch w, _ := c.question(); {
			case c.prompted():
				return c.atEnd(), nil
			case w != nil: // not silent: it waits for an answer
				c.await(w, 0, still)
				continue
			default:
				c.outcome = Silent
				return term.Exit{}, nil
			}
		case <-stand.C:
			if rest := c.checkStall(); rest > 0 {
				stand.Reset(rest)
			}
		case <-c.answered:
			c.ahead = false
			anew()
			still.Reset(answerWait)
		case <-c.interrupted:
			interrupted = true
		case <-c.yielded:
			if c.startsShell() {
				return c.followWithin(), nil
			}
			c.becomeOuter()
			return c.atEnd(), nil
		case <-c.x.Done():
			if c.l.t.Context().Err() != nil { // the session, not the command's time, is over
				return c.closed(), nil
			}
			return c.stop(), nil
		}
	}
}

// ended reports whether the marker came.
func (f *follower) ended() bool {
	if f.scan == nil {
		return false
	}
	_, ok := f.scan.Status()
	return ok
}

// quietTime is the silence that ends a command without marker; 0: none does.
func (c *Command) quietTime() time.Duration {
	switch {
	case c.scan != nil:
		return 0
	case c.r.Idle > 0:
		return c.r.Idle
	case c.r.Prompt != nil:
		return 0
	}
	return defaultQuiet
}

// asks records that the command seems to wait for w; the text of w then counts as output.
func (c *Command) asks(w *term.Waiting) {
	switch {
	case w == nil && c.Stalled() != nil: // still
		return
	case w == nil:
	case c.scan == nil:
		c.show()
	case w.Kind == prompt.Command && !c.scan.Started(): // the shell that read the line did not understand it
		c.l.history.Refused()
	}
	c.setWaiting(c.l.masked(w))
}

// marked returns the outcome after the marker came. The shell is then ready for any line, unless a caller has typed
// meanwhile; and the line before was a prompt.
func (c *Command) marked() term.Exit {
	c.outcome = Marked
	c.returns()
	status, _ := c.scan.Status()
	return term.Exit{Known: true, Code: status}
}

// atEnd is the outcome when the prompt is back: it is in the last line, and no output.
func (c *Command) atEnd() term.Exit {
	c.outcome = Prompted
	c.letGo(true)
	return term.Exit{}
}

// advance takes the output that has arrived before end, and reports whether there was any.
func (c *Command) advance(end int64) bool {
	from := c.off
	for c.off < end && !c.ended() && !c.left() {
		sl := c.l.out.At(c.off, int(min(followPiece, end-c.off)))
		if sl.Next == c.off {
			break
		}
		c.off = sl.Next
		c.lost += sl.Dropped
		c.taken = c.taken || bytes.IndexByte(sl.Data, '\n') >= 0
		c.stall.grow(sl.Data, c.l.history.Touches())
		switch c.scan {
		case nil:
			data := sl.Data
			if c.within != nil {
				data = c.within.Feed(nil, data)
			}
			c.emit(c.echo.Strip(c.ends.Convert(nil, data)))
		default:
			if sl.Dropped > 0 { // the start was there, or the echo would be
				c.scan.Assume()
				c.taken = true
			}
			c.emit(c.scan.Feed(nil, sl.Data))
		}
	}
	return c.off > from
}

// undecided returns the bytes held back for an end that will not come any more.
func (f *follower) undecided() []byte {
	if f.scan != nil {
		return f.scan.Flush(nil)
	}
	var rest []byte
	if f.within != nil {
		rest = f.echo.Strip(f.ends.Convert(nil, f.within.Flush(nil)))
	}
	return slices.Concat(rest, f.echo.Strip(f.ends.Flush(nil)), f.echo.Flush())
}

// atPrompt reports whether line is the prompt.
func (c *Command) atPrompt(line string) bool {
	switch {
	case line == "":
		return false
	case c.r.Prompt != nil && c.r.Prompt.MatchString(line):
		return true
	}
	return line == c.before || prompt.SameStem(line, c.before) || c.l.history.IsLearned(line)
}

// prompted reports whether the far side of a command without marker is ready again: the prompt that was given,
// or else the line that stood there before, in the last line.
func (c *Command) prompted() bool {
	if c.scan != nil || !c.taken || c.echo.Pending() || c.off == 0 {
		return false
	}
	_, line := c.l.promptLine(c.r.Prompt)
	if c.r.Prompt != nil {
		return line != "" && c.r.Prompt.MatchString(line)
	}
	return c.atPrompt(line)
}

// question returns the question that the running command seems to ask, or nil. If rest is not 0, it asks one unless
// something comes within that time.
func (c *Command) question() (w *term.Waiting, rest time.Duration) {
	line := c.l.LastLine()
	switch {
	case !c.alt && c.l.t.Modes().AltScreen:
		return c.editor(line), 0
	case c.taken && c.atPrompt(line):
		if c.scan == nil && c.r.Prompt == nil && !c.echo.Pending() { // it came just now
			return nil, quietStop
		}
		if c.ahead && !c.scan.Started() {
			if rest = latePrompt - c.l.t.Quiet(); rest > 0 {
				return nil, rest
			}
		}
		if c.scan != nil && c.otherReads() { // nothing says when that changes
			return nil, max(quietForm, c.l.t.Quiet())
		}
		return &term.Waiting{Kind: prompt.Command, Text: line}, 0
	case c.scan != nil && !c.scan.Started():
		return nil, 0
	}
	if w = prompt.Waits(line, c.r.Pagers); w != nil {
		return w, 0
	}
	stand := quietForm
	switch w = prompt.Asks(line); {
	case w != nil:
	case c.scan == nil || strings.TrimSpace(line) == "":
		return nil, 0
	default:
		v := c.view()
		v.Line = line
		_, v.Starts = prompt.Starts(c.r.Command)
		if c.l.t.Quiet() >= quietForm { // to look at the programs is dear
			v.Front = c.l.t.Front()
		}
		if !c.l.history.AtShell(v) {
			return nil, max(quietForm-c.l.t.Quiet(), 0)
		}
		w = &term.Waiting{Kind: prompt.Command, Text: line}
		if prompt.Designed(line) {
			stand = quietSign
		}
	}
	if rest = stand - c.l.t.Quiet(); rest > 0 {
		return nil, rest
	}
	if w.Kind == prompt.Command {
		c.nested = true
		class, _ := prompt.Starts(c.r.Command)
		c.l.history.Nest(class, line)
	}
	return w, 0
}

// editor is the wait of a program that has taken the whole screen.
func (c *Command) editor(line string) *term.Waiting {
	if w := c.l.Asks(); w != nil {
		return w
	}
	return &term.Waiting{Kind: prompt.Editor, Text: line}
}

// closed is the outcome of a command during which the terminal ended: it may have ended it itself.
func (c *Command) closed() term.Exit {
	exit, err := c.l.t.End()
	c.advance(c.l.out.Stat().End)
	if c.ended() {
		return c.marked()
	}
	c.outcome = Disconnected
	if exit.Known && err == nil {
		return exit
	}
	return term.Exit{}
}
