package paced

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

// A console is a device behind a serial line of 9600 baud. Its UART has a FIFO of 16 bytes, which the device empties
// while it reads a line, and not while it works at one: input that does not fit then is lost.
type console struct {
	work   time.Duration                     // for one line
	late   map[int]time.Duration             // lines with a late echo, by number
	expand func(line string) string          // the echo of a line
	reply  func(line string) (answer string) // to a line outside of blocks
	delay  func(line string) time.Duration   // more work for a line; nil: none
	ask    map[int]string                    // lines after which it asks instead of showing its prompt
	prompt string
	hidden bool // it echoes nothing
	bare   bool // its answers have no line end

	forbidden int // the line that may not be typed

	mu      sync.Mutex // guards the following
	out     []byte
	changed chan struct{}
	held    *strings.Builder // not nil: output that comes late
	fifo    []byte
	busy    bool
	ended   bool
	text    []byte // of the line that it reads
	lines   []string
	lost    int
	mark    string // a banner ends with it
	wake    chan struct{}
	stopped chan struct{}
}

const byteTime = time.Second / 960

func newConsole() *console {
	return &console{
		work: 60 * time.Millisecond, prompt: "r1(config)#", changed: make(chan struct{}), wake: make(chan struct{}, 1),
		expand: func(line string) string { return line }, reply: func(string) string { return "" },
		stopped: make(chan struct{}),
	}
}

// run is the device. It ends with ctx.
func (c *console) run(ctx context.Context) {
	defer close(c.stopped)
	c.print(c.prompt)
	for {
		c.mu.Lock()
		for len(c.fifo) > 0 && !c.busy {
			b := c.fifo[0]
			c.fifo = c.fifo[1:]
			if b != '\r' {
				c.text = append(c.text, b)
				if d := c.late[len(c.lines)+1]; len(c.text) == 1 && d > 0 {
					c.held = new(strings.Builder)
					time.AfterFunc(d, c.release)
				}
				if !c.hidden {
					c.show(string(b))
				}
				continue
			}
			line := string(c.text)
			c.text = nil
			c.lines = append(c.lines, line)
			c.busy = true
			n := len(c.lines)
			c.mu.Unlock()
			if !c.handle(ctx, n, line) {
				return
			}
			c.mu.Lock()
			c.busy = false
		}
		c.mu.Unlock()
		select {
		case <-c.wake:
		case <-ctx.Done():
			return
		}
	}
}

// handle works at a line.
func (c *console) handle(ctx context.Context, n int, line string) bool {
	wait := func(d time.Duration) bool {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
	if e := c.expand(line); !c.hidden && e != line { // the line is drawn again
		c.print("\r" + c.prompt + e)
	}
	c.print("\r\n")
	work := c.work
	if c.delay != nil {
		work += c.delay(line)
	}
	if !wait(work) {
		return false
	}
	switch {
	case c.mark != "":
		if strings.Contains(line, c.mark) {
			c.mark = ""
			c.print(c.prompt)
		}
	case strings.HasPrefix(line, "banner motd ") && !strings.HasPrefix(line, "banner motd #bad"):
		c.mark = line[len("banner motd ") : len("banner motd ")+1]
		c.print("Enter TEXT message.  End with the character '" + c.mark + "'.\r\n")
	default:
		if a := c.reply(line); a != "" {
			c.print(a)
			if !c.bare {
				c.print("\r\n")
			}
		}
		if q := c.ask[n]; q != "" {
			c.print(q)
		} else {
			c.print(c.prompt)
		}
	}
	return true
}

func (c *console) print(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.show(text)
}

// release shows the output that a slow way has held back.
func (c *console) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := c.held.String()
	c.held = nil
	c.show(text)
}

// show requires c.mu.
func (c *console) show(text string) {
	if c.held != nil {
		c.held.WriteString(text)
		return
	}
	c.out = append(c.out, text...)
	close(c.changed)
	c.changed = make(chan struct{})
}

// Line implements Terminal.
func (c *console) Line(_ context.Context, number int, _ string) (Line, error) {
	if number == c.forbidden {
		return nil, errForbidden
	}
	return typist{c}, nil
}

// A typist types into a console.
type typist struct{ *console }

var errForbidden = errors.New("forbidden")

// End implements Line.
func (l typist) End(error) {}

// Type implements Line: the bytes arrive at the speed of the line.
func (l typist) Type(ctx context.Context, data []byte) (int, error) {
	c := l.console
	for i, b := range data {
		time.Sleep(byteTime)
		c.mu.Lock()
		if c.ended {
			c.mu.Unlock()
			return i, errors.New("closed")
		}
		if len(c.fifo) < 16 {
			c.fifo = append(c.fifo, b)
		} else {
			c.lost++
		}
		c.mu.Unlock()
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
	return len(data), ctx.Err()
}

func (c *console) Cols() int { return 80 }

func (c *console) End() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return int64(len(c.out))
}

func (c *console) LastLine() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.out[bytes.LastIndexByte(c.out, '\n')+1:])
}

func (c *console) Output(from int64) ([]byte, int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]byte(nil), c.out[from:]...), int64(len(c.out))
}

func (c *console) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

func (c *console) Ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

func (c *console) Clean(p []byte) string { return strings.ReplaceAll(string(p), "\r", "") }

// end ends the terminal.
func (c *console) end() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.print("")
}

// got returns the lines that the device has read, and how many bytes it has lost.
func (c *console) got() (lines []string, lost int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.lines...), c.lost
}

var (
	isPrompt = regexp.MustCompile(`^[\w.\-]+(?:\([\w\-]+\))?[>#] ?$`).MatchString
	refusals = []*regexp.Regexp{regexp.MustCompile(`(?m)^% ?(?:Invalid|Incomplete)[^\r\n]*`)}
)

// asks recognizes questions.
func asks(line string) string {
	if strings.HasSuffix(strings.TrimSpace(line), "[confirm]") {
		return "yes_no"
	}
	return ""
}

// config is a configuration of n lines.
func config(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "ip route 10.%d.%d.0 255.255.255.0 192.0.2.%d name to-site-%d\n", i/256, i%256, i%250+1, i)
	}
	return b.String()
}
