package lane

import (
	"slices"

	"ptyctl/session/marker"
	"ptyctl/session/prompt"
	"ptyctl/term"
)

// A command may start a shell and leave the terminal to it. Its own shell goes on with the typed line, and prints the
// marker, when that inner shell has ended: in the output of a later command, which has then ended, too.

// maxOuter is how many commands may have left the terminal to their shells; the outermost are forgotten first.
const maxOuter = 16

// enter notes the commands that started the shells in which the command runs.
func (c *Command) enter() {
	c.l.mu.Lock()
	c.outer = slices.Clone(c.l.outer)
	c.l.mu.Unlock()
	if len(c.outer) == 0 {
		return
	}
	var markers []marker.Marker
	for _, o := range c.outer {
		markers = append(markers, o.scan.Marker())
	}
	if c.scan != nil {
		c.scan.Within(markers)
		return
	}
	c.within = marker.NewScanner(markers[0])
	c.within.Within(markers)
	c.within.Assume()
}

// startsShell reports whether the command, which waits at a shell's prompt, seems to have started that shell. If not,
// the shell has given up the line, and with it the marker.
func (c *Command) startsShell() bool {
	_, starts := prompt.Starts(c.r.Command)
	return c.scan != nil && c.scan.Started() &&
		(starts || !c.atPrompt(c.l.LastLine()) || c.nested)
}

// becomeOuter notes that the command has left the terminal, possibly to a shell that it has started.
func (c *Command) becomeOuter() {
	if c.scan == nil || !c.scan.Started() {
		return
	}
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	c.l.outer = append(c.l.outer, c)
	if n := len(c.l.outer) - maxOuter; n > 0 {
		c.l.outer = slices.Delete(c.l.outer, 0, n)
	}
}

// followWithin lets the next command have the terminal, and waits for the end of the shell that the command has
// started. Output until then is from other commands.
func (c *Command) followWithin() term.Exit {
	c.letGo(true)
	c.holding, c.muted = false, true
	c.becomeOuter()
	c.Release()
	for {
		changed := c.l.out.Changed()
		c.advance(c.l.out.Stat().End)
		switch {
		case c.ended():
			return c.marked()
		case c.left():
			return c.leftShell()
		case c.l.out.Stat().Closed:
			return c.closed()
		}
		select {
		case <-changed:
		case <-c.x.Done():
			if c.l.t.Context().Err() != nil {
				return c.closed()
			}
			c.outcome = Prompted
			return term.Exit{Killed: "unknown"}
		}
	}
}

// left reports whether the shell that ran the command is gone: the marker of a command around it came.
func (f *follower) left() bool {
	_, ok := f.leftFor()
	return ok
}

// leftFor returns the outer command if its marker came.
func (f *follower) leftFor() (*Command, bool) {
	scan := f.scan
	if scan == nil {
		scan = f.within
	}
	if scan == nil {
		return nil, false
	}
	if i, _, ok := scan.Left(); ok {
		return f.outer[i], true
	}
	if _, ok := scan.Status(); ok && scan == f.within {
		return f.outer[0], true
	}
	return nil, false
}

// leftShell is the outcome when the shell that ran the command is gone.
func (c *Command) leftShell() term.Exit {
	if o, ok := c.leftFor(); ok {
		o.returns()
	}
	c.outcome = Prompted
	return term.Exit{}
}

// returns notes that the command's shell has the terminal again: the shells within it are gone.
func (c *Command) returns() {
	c.returned.Do(func() {
		c.l.mu.Lock()
		if i := slices.Index(c.l.outer, c); i >= 0 {
			c.l.outer = slices.Delete(c.l.outer, i, len(c.l.outer))
		}
		c.l.mu.Unlock()
		c.l.history.Marked(c.sh.Class, c.before, c.touches)
	})
}

// otherReads reports whether the programs in front show that no shell is at its prompt.
func (c *Command) otherReads() bool {
	v := c.view()
	v.Front = c.l.t.Front()
	return prompt.Occupied(v)
}
