package record

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"ptyctl/term"
	"ptyctl/vt"
)

const (
	headBytes   = 64 << 10 // of a command's output that are drawn as they come
	tailBytes   = 16 << 10 // of each of its streams that are drawn at its end, if there are more
	maxCommands = 64       // that run at a time and are drawn; of others only the line and the status are
)

// A command is one that runs beside the terminal.
type command struct {
	id      string
	drawn   int // bytes of output
	streams [2]stream
}

// A stream is the output of a command, or its errors.
type stream struct {
	filter  vt.Filter
	tail    []byte
	dropped int64 // bytes between the drawn output and tail
}

// add keeps output for the end.
func (s *stream) add(p []byte) {
	s.tail = append(s.tail, p...)
	if over := len(s.tail) - tailBytes; over > tailBytes {
		s.dropped += int64(over)
		s.tail = append(s.tail[:0], s.tail[over:]...)
	}
}

// commands draws commands.
type commands struct {
	t       *tape
	running map[string]*command
	last    string // the command with the output drawn last
}

// begin draws a command's line.
func (c *commands) begin(at time.Duration, id, line string) {
	if len(c.running) < maxCommands {
		c.running[id] = &command{id: id}
	}
	c.line(at, "\x1b[1m$ "+oneScreen(line)+"\x1b[m")
	c.last = id
}

// oneScreen makes a text of several lines one for a terminal.
func oneScreen(text string) string { return strings.Join(splitLines(text), "\r\n> ") }

// note draws a line that is not of a command.
func (c *commands) note(at time.Duration, text string) { c.line(at, "\x1b[2m"+text+"\x1b[m") }

// line draws a line of its own.
func (c *commands) line(at time.Duration, text string) {
	if !c.t.start {
		text = "\r\n" + text
	}
	c.t.command(at, []byte(text+"\r\n"))
}

// output draws output of a command, as far as there is room for it.
func (c *commands) output(at time.Duration, id string, errors bool, p []byte) {
	x := c.running[id]
	if x == nil {
		return
	}
	s := &x.streams[0]
	if errors {
		s = &x.streams[1]
	}
	n := 0
	if len(s.tail) == 0 && s.dropped == 0 {
		n = min(len(p), headBytes-x.drawn)
		x.drawn += n
	}
	c.draw(at, x, s, p[:n])
	s.add(p[n:])
}

// draw draws output. Only sequences that draw come through, and errors are red.
func (c *commands) draw(at time.Duration, x *command, s *stream, p []byte) {
	text := toTerminal(s.filter.Append(nil, p))
	if len(text) == 0 {
		return
	}
	if c.last != x.id { // others were drawn in between
		c.note(at, "["+x.id+"]")
		c.last = x.id
	}
	if s == &x.streams[1] {
		text = append(append([]byte("\x1b[31m"), text...), "\x1b[39m"...)
	}
	start := endsLine(text)
	c.t.command(at, text)
	c.t.start = start
}

// endsLine reports whether text ends with a line end, and a sequence at most behind it.
func endsLine(text []byte) bool {
	return bytes.HasSuffix(bytes.TrimSuffix(text, []byte("\x1b[39m")), []byte("\n"))
}

// end draws the rest of a command's output, and its outcome.
func (c *commands) end(at time.Duration, id, how string) {
	if x := c.running[id]; x != nil {
		delete(c.running, id)
		for i := range x.streams {
			s := &x.streams[i]
			if over := len(s.tail) - tailBytes; over > 0 && s.dropped > 0 {
				s.dropped += int64(over)
				s.tail = s.tail[over:]
			}
			if s.dropped > 0 {
				c.t.command(at, s.filter.Restore(nil))
				c.note(at, fmt.Sprintf("[... %s bytes of %s left out ...]", grouped(s.dropped), [...]string{"stdout", "stderr"}[i]))
				s.filter = vt.Filter{}
				for len(s.tail) > 0 && s.tail[0]&0xc0 == 0x80 { // the rest of a character
					s.tail = s.tail[1:]
				}
			}
			c.draw(at, x, s, s.tail)
			if rest := s.filter.Restore(nil); len(rest) > 0 {
				start := c.t.start
				c.t.command(at, rest)
				c.t.start = start
			}
		}
	}
	c.note(at, "["+id+": "+how+"]")
	c.last = ""
}

// toTerminal puts a CR before each LF that has none, as the terminal of a person does.
func toTerminal(p []byte) []byte {
	if bytes.IndexByte(p, '\n') < 0 {
		return p
	}
	out := make([]byte, 0, len(p)+len(p)/16+8)
	for i, b := range p {
		if b == '\n' && (i == 0 || p[i-1] != '\r') {
			out = append(out, '\r')
		}
		out = append(out, b)
	}
	return out
}

// grouped formats n with a comma after each three digits.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// ended says how a command ended.
func ended(e term.Event) string {
	var how []string
	switch x := e.Exit; {
	case x != nil && x.Known && x.Signal != "":
		how = append(how, "signal "+x.Signal)
	case x != nil && x.Known:
		how = append(how, "exit "+strconv.Itoa(x.Code))
	}
	if e.State != "" && e.State != "ended" {
		how = append(how, e.State)
	}
	if err := e.Outcome(); err != nil {
		how = append(how, string(term.KindOf(err)))
	}
	if len(how) == 0 {
		how = append(how, "ended")
	}
	return strings.Join(append(how, e.Duration.Round(time.Millisecond).String()), ", ")
}
