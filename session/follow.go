package session

import (
	"bytes"
	"time"

	"ptyctl/session/prompt"
	"ptyctl/term"
)

const (
	// quietPrompt is how long a question must stand still before a result is returned because of it.
	quietPrompt = 150 * time.Millisecond

	// answerWait is how long an answered question may go on standing there before it counts as asked again.
	answerWait = 1 * time.Second

	// defaultQuiet is how long a device must be quiet before its answer counts as complete, if the caller gave
	// neither a time nor a prompt to go by.
	defaultQuiet = 2 * time.Second

	// followPiece is how much of the stream is looked at in one go.
	followPiece = 256 << 10
)

// follow reads the stream until the command has ended.
func (t *typedRun) follow() (term.Exit, error) {
	defer func() {
		t.emit(t.undecided())
		t.emit(t.cut.stop())
		t.letGo(false)
	}()
	quiet := quietPrompt
	if t.scan == nil {
		quiet = quietStop
	}
	still := time.NewTimer(quiet)
	defer still.Stop()
	idle := time.NewTimer(t.quietTime())
	defer idle.Stop()
	if t.quietTime() == 0 {
		idle.Stop()
	}
	for {
		changed := t.s.buf.Changed()
		if t.advance() {
			still.Reset(quiet)
			t.x.setWaiting(nil)
			if t.quietTime() > 0 {
				idle.Reset(t.quietTime())
			}
		}
		if t.ended() {
			return t.marked(), nil
		}
		if t.s.buf.Stat().Closed {
			return t.closed(), nil
		}
		select {
		case <-changed:
		case <-still.C:
			if t.prompted() {
				return t.atEnd(), nil
			}
			t.await(t.question(), still)
		case <-idle.C:
			switch w := t.question(); {
			case t.prompted():
				return t.atEnd(), nil
			case w != nil: // not silent: it waits for an answer
				t.await(w, still)
				continue
			default:
				t.x.how = DoneIdle
				return term.Exit{}, nil
			}
		case <-t.x.answered:
			t.x.setWaiting(nil)
			still.Reset(answerWait)
		case <-t.x.interrupted:
			if e, ok := t.settled(t.x.ctx, interruptGrace*3); ok {
				return e, nil
			}
			still.Reset(quiet)
		case <-t.x.yielded:
			return t.atEnd(), nil
		case <-t.x.ctx.Done():
			if t.s.ctx.Err() != nil { // the session, not the command's time, is over
				return t.closed(), nil
			}
			return t.stop(), nil
		}
	}
}

// ended reports whether the marker came.
func (t *typedRun) ended() bool {
	if t.scan == nil {
		return false
	}
	_, ok := t.scan.Status()
	return ok
}

// quietTime is the silence that ends a command without marker; 0: none does.
func (t *typedRun) quietTime() time.Duration {
	switch {
	case t.scan != nil:
		return 0
	case t.r.Idle > 0:
		return t.r.Idle
	case t.prompt != nil:
		return 0
	}
	return defaultQuiet
}

// asks says that the command seems to wait for w, whose text is then output.
func (t *typedRun) asks(w *term.Waiting) {
	switch {
	case w == nil:
	case t.scan == nil:
		t.show()
	case w.Kind == prompt.Command && !t.scan.Started(): // the line was none for the shell that reads it
		t.s.prompts.Refused()
	}
	t.x.setWaiting(w)
}

// marked is the outcome when the marker came: the shell is ready, whatever it shows, unless somebody has typed
// meanwhile. And the line before was a prompt.
func (t *typedRun) marked() term.Exit {
	t.x.how = DoneMarker
	t.s.prompts.Marked(t.sh.Class, t.before, t.touches)
	status, _ := t.scan.Status()
	return term.Exit{Known: true, Code: status}
}

// atEnd is the outcome when the prompt is back: it is in the last line, and no output.
func (t *typedRun) atEnd() term.Exit {
	t.x.how = DonePrompt
	t.letGo(true)
	return term.Exit{}
}

// advance takes what has arrived, and reports whether there was anything.
func (t *typedRun) advance() bool {
	from := t.off
	for !t.ended() {
		sl := t.s.buf.At(t.off, followPiece)
		if sl.Next == t.off {
			break
		}
		t.off = sl.Next
		t.x.lost += sl.Dropped
		t.taken = t.taken || bytes.IndexByte(sl.Data, '\n') >= 0
		switch t.scan {
		case nil:
			t.emit(t.echo.Strip(t.ends.Convert(nil, sl.Data)))
		default:
			if sl.Dropped > 0 { // the start was there, or the echo would be
				t.scan.Assume()
				t.taken = true
			}
			t.emit(t.scan.Feed(nil, sl.Data))
		}
	}
	return t.off > from
}

// undecided returns what was held back for something that does not come any more.
func (t *typedRun) undecided() []byte {
	if t.scan != nil {
		return t.scan.Flush(nil)
	}
	return append(t.echo.Strip(t.ends.Flush(nil)), t.echo.Flush()...)
}

// atPrompt reports whether line is the prompt.
func (t *typedRun) atPrompt(line string) bool {
	switch {
	case line == "":
		return false
	case t.prompt != nil && t.prompt.MatchString(line):
		return true
	}
	return line == t.before || prompt.SameStem(line, t.before) || t.s.prompts.IsLearned(line)
}

// prompted reports whether the far side of a command without marker is ready again: the prompt that was given,
// or else the line that stood there before, in the last line.
func (t *typedRun) prompted() bool {
	if t.scan != nil || !t.taken || t.echo.Pending() || t.off == 0 {
		return false
	}
	_, line := t.s.promptLine(t.prompt)
	if t.prompt != nil {
		return line != "" && t.prompt.MatchString(line)
	}
	return t.atPrompt(line)
}

// question says what the running command seems to wait for, or nil.
func (t *typedRun) question() *term.Waiting {
	line := t.s.lastLine()
	switch {
	case !t.alt && t.s.modes().AltScreen:
		return &term.Waiting{Kind: prompt.Editor, Text: line}
	case t.taken && t.atPrompt(line):
		return &term.Waiting{Kind: prompt.Command, Text: line}
	case t.scan != nil && !t.scan.Started():
		return nil
	}
	return prompt.Waits(line, t.x.expect.Pagers)
}

// closed is the outcome of a command during which the terminal ended: it may have ended it itself.
func (t *typedRun) closed() term.Exit {
	<-t.s.ended
	t.advance()
	if t.ended() {
		return t.marked()
	}
	t.s.mu.Lock()
	end := t.s.end
	t.s.mu.Unlock()
	t.x.how = DoneEOF
	if end.Exit.Known && end.Err == nil {
		return end.Exit
	}
	return term.Exit{}
}
