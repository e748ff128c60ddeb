package lane

import (
	"bytes"

	"ptyctl/vt"
)

// emit takes output of the command. Where the last line may be the prompt, it is held back until it is finished.
func (c *Command) emit(p []byte) {
	if c.muted {
		return
	}
	p = c.cut.strip(p)
	if !c.holding {
		_, _ = c.w.Write(p)
		return
	}
	c.held = append(c.held, p...)
	end := c.promptBegins()
	if len(c.held)-end > lineBack {
		end = len(c.held)
	}
	_, _ = c.w.Write(c.held[:end])
	c.held = append(c.held[:0], c.held[end:]...)
}

// promptBegins returns where the last line of the bytes held back begins: the unfinished one, or the prompt above the
// cursor.
func (c *Command) promptBegins() int {
	end := bytes.LastIndexByte(c.held, '\n') + 1
	if end < len(c.held) || end == 0 {
		return end
	}
	begin := bytes.LastIndexByte(c.held[:end-1], '\n') + 1
	var clean vt.Cleaner
	if line := clean.Append(nil, c.held[begin:end]); promptAbove(string(line), c.l.t.Cols()) != "" {
		return begin
	}
	return end
}

// show writes the bytes held back: the last line is output, as the command waits there.
func (c *Command) show() {
	if c.scan != nil {
		c.emit(c.scan.Peek(nil))
	}
	_, _ = c.w.Write(c.held)
	c.held = c.held[:0]
}

// letGo ends the holding back. If the last line is the prompt, nothing is undecided any more, and it is dropped.
func (c *Command) letGo(prompt bool) {
	if prompt {
		c.holding = true
		c.emit(c.undecided())
		c.emit(c.cut.stop())
		c.held = c.held[:c.promptBegins()]
		if before, _ := c.l.promptLine(c.r.Prompt); before != "" { // the text before the prompt is output
			c.held = append(append(c.held, before...), '\n')
		}
	}
	c.show()
	c.holding = c.scan == nil
}
