package lane

import (
	"context"
	"errors"
	"strings"
	"time"

	"ptyctl/session/prompt"
	"ptyctl/term"
)

// interruptGrace is how long a command in the terminal may take to obey ctrl_c, and again ctrl_backslash.
const interruptGrace = 1 * time.Second

// stop ends a command at its timeout as a person would: ctrl_c, then ctrl_backslash. Once others have typed, or the
// lock has changed hands, the program in the terminal may be theirs, and no key is pressed. Nor is a key pressed at
// the deadline if a shell that the command started waits at its prompt, or at a possible prompt.
func (c *Command) stop() term.Exit {
	c.outcome = Prompted
	w, _ := c.question()
	if w == nil || w.Kind != prompt.Command {
		w = c.standsInShell(w)
	}
	if w != nil {
		c.standing = c.l.masked(w)
		c.becomeOuter()
		return term.Exit{Killed: "unknown"}
	}
	for _, key := range []string{"\x03", "\x1c"} {
		if !c.press(key, "to stop "+c.id, func() {}) {
			break
		}
		if e, ok := c.settled(c.l.t.Context(), interruptGrace); ok {
			e.Killed = "yes"
			return e
		}
	}
	return term.Exit{Killed: "unknown"}
}

// standsInShell returns the last line at the deadline of a command that starts a shell, if that may be the shell's
// prompt, of whatever form; nil: it asks something else, or is at work.
func (c *Command) standsInShell(asked *term.Waiting) *term.Waiting {
	line := c.l.LastLine()
	v := c.view()
	v.Line, v.Front = line, c.l.t.Front()
	_, starts := prompt.Starts(c.r.Command)
	switch {
	case !starts || c.scan == nil || !c.scan.Started() || !errors.Is(context.Cause(c.x), context.DeadlineExceeded):
		return nil
	case strings.TrimSpace(line) == "" || c.l.t.Modes().AltScreen || c.l.t.Quiet() < quietForm:
		return nil
	case v.Front.Reads == term.No || prompt.Occupied(v):
		return nil
	case asked != nil && asked.Kind != prompt.Unknown && asked.Kind != prompt.REPL:
		return nil
	}
	return &term.Waiting{Kind: prompt.Unknown, Text: line}
}

// Standing returns the line at which the command was left at its deadline without a key; nil: it was not. Requires that
// Follow has returned.
func (f *follower) Standing() *term.Waiting { return f.standing }

// press presses a key for the command and calls done when the key is out. It presses none if others have typed since
// the command's line went out. It reports whether it presses the key.
func (c *Command) press(key, why string, done func()) bool {
	if c.l.history.Touches() != c.touches {
		return false
	}
	return c.l.t.Press(Key{Text: key, Why: why, Actor: c.r.Actor, Epoch: c.r.Epoch}, done)
}

// settled waits, at most limit, until the marker or the prompt shows that the command is gone: a shell that is
// interrupted gives up the whole line, and with it the marker.
func (c *Command) settled(ctx context.Context, limit time.Duration) (e term.Exit, ok bool) {
	c.holding = true
	c.emit(c.cut.stop())
	defer func() { c.letGo(ok && !e.Known) }()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	still := time.NewTimer(quietStop)
	defer still.Stop()
	for {
		changed := c.l.out.Changed()
		if c.advance(c.l.out.Stat().End) {
			still.Reset(quietStop)
		}
		if c.ended() {
			return c.marked(), true
		}
		select {
		case <-changed:
		case <-still.C:
			if c.atPrompt(c.l.LastLine()) {
				c.outcome = Prompted
				return term.Exit{}, true
			}
		case <-timer.C:
			return term.Exit{}, false
		case <-ctx.Done():
			return term.Exit{}, false
		}
	}
}
