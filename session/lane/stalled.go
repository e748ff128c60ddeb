package lane

import (
	"bytes"
	"strings"
	"time"

	"ptyctl/session/prompt"
	"ptyctl/term"
)

// A command may ask in a way that looks like a report: it prints a part of a line and waits. After a while of silence
// results have that line as stalled, and once for each command it ends the call.

const (
	// DefaultQuietLine is how long an unfinished line must be unchanged to count as stalled.
	DefaultQuietLine = 5 * time.Second

	// grownQuiet is the same for a program that has completed or redrawn an unfinished line before, as reports of
	// progress do.
	grownQuiet = 30 * time.Second

	// growPause is the least time between two parts of one line that the far side has sent one by one.
	growPause = 200 * time.Millisecond

	// maxDoubts is how many looks at the programs in front, one after the other, may show nothing certain before the
	// line counts as stalled, and doubtPause the time between two of them.
	maxDoubts  = 4
	doubtPause = 200 * time.Millisecond
)

// A stall watches the unfinished last line of a command. The goroutine that follows the command owns it.
type stall struct {
	began   time.Time     // when the line began; zero: no line
	touches int           // how often callers had typed then
	grew    bool          // the program has gone on with a line that had been there for a while
	told    bool          // a stalled line has ended a call
	look    time.Duration // until the next look at a program that does not read its terminal
	doubts  int           // how many looks in a row have shown nothing certain
}

// grow takes note of output.
func (s *stall) grow(p []byte, touches int) {
	now := time.Now()
	// The line may only have grown by the echo of typed text.
	if !s.began.IsZero() && now.Sub(s.began) >= growPause && s.touches == touches {
		s.grew = true
	}
	end := bytes.LastIndexByte(p, '\n') + 1
	switch {
	case end == len(p):
		s.began = time.Time{}
	case end > 0 || s.began.IsZero():
		s.began, s.touches = now, touches
	}
}

// checkStall sets or clears the stalled line, and ends the call for it, once. rest is how long to wait until the next
// look; 0: until there is output.
func (c *Command) checkStall() (rest time.Duration) {
	line := c.l.LastLine()
	need := c.r.QuietLine
	if c.stall.grew {
		need = max(need, grownQuiet)
	}
	need += quietStop // a deadline of the same length comes first
	switch {
	case c.scan == nil && (c.quietTime() > 0 || !c.taken || c.echo.Pending()), c.scan != nil && !c.scan.Started():
		return 0
	case c.l.t.Modes().AltScreen:
		return 0
	case c.l.t.Quiet() < need:
		return need - c.l.t.Quiet()
	}
	w := c.l.masked(c.l.Stands(line))
	if w == nil {
		return 0
	}
	switch c.l.t.Front().Reads {
	case term.No: // nothing says when it begins to read
		c.stall.look, c.stall.doubts = max(need, 2*c.stall.look), 0
		return c.stall.look
	case term.Maybe: // a program that works may be between two calls of the system
		if c.stall.doubts++; c.stall.doubts < maxDoubts {
			return doubtPause
		}
	}
	c.show()
	c.mu.Lock()
	c.stalled = w
	known := c.waiting != nil
	c.mu.Unlock()
	if !known && !c.stall.told {
		c.stall.told = true
		c.setWaiting(w)
	}
	return 0
}

// Stands returns the possible question of a terminal at rest: a dialog, or its last line; nil: it shows neither.
func (l *Lane) Stands(line string) *term.Waiting {
	if w := l.Asks(); w != nil {
		return w
	}
	if strings.TrimSpace(line) == "" {
		return nil
	}
	return &term.Waiting{Kind: prompt.Unknown, Text: line}
}

// moves notes that the last line has changed, or is about to.
func (s *signals) moves() {
	s.mu.Lock()
	s.stalled = nil
	s.mu.Unlock()
	s.setWaiting(nil)
}

// Stalled returns the stalled line: unfinished, unchanged for a while, and not known to be a question. It may be nil.
func (s *signals) Stalled() *term.Waiting {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stalled
}

// Told notes that a caller has learned of the stalled line: the next call waits on.
func (s *signals) Told() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting != nil && s.waiting == s.stalled {
		s.waiting = nil
	}
}
