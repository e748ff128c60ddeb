package paced

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// paste types text into a console, in a bubble.
func paste(t *testing.T, c *console, text string, o Options) (res Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		c.changed, c.wake, c.stopped = make(chan struct{}), make(chan struct{}, 1), make(chan struct{})
		go c.run(ctx)
		synctest.Wait()
		units, err := Units(text)
		if err != nil {
			t.Fatal(err)
		}
		if o.Ready == nil && o.Mode == Prompt {
			o.Ready = isPrompt
		}
		o.Errors = refusals
		res = Run(ctx, c, units, o)
		synctest.Wait()
		cancel()
		<-c.stopped
	})
	return res
}

func lines(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

// A slow console gets every line whole and in order.
func TestSlowConsole(t *testing.T) {
	long := config(1000) + "banner motd #\nAuthorized only\n% Invalid input is part of the text\nr1(config)#\nBye #\n" + config(994)
	abbreviated := regexp.MustCompile(`^ip route`)
	for name, tt := range map[string]struct {
		change func(c *console)
		o      Options
	}{
		"prompt": {func(*console) {}, Options{Mode: Prompt}},
		"echo":   {func(*console) {}, Options{Mode: Echo}},
		"delay":  {func(c *console) { c.work = 20 * time.Millisecond }, Options{Mode: Delay, LineDelay: 30 * time.Millisecond, CharDelay: 2 * time.Millisecond}},
		"a late echo": {func(c *console) { c.late = map[int]time.Duration{7: 20 * time.Second, 1003: 20 * time.Second} },
			Options{Mode: Prompt}},
		"expanded abbreviations": {func(c *console) {
			c.expand = func(line string) string { return abbreviated.ReplaceAllString(line, "IPv4 in-table\troute") }
		}, Options{Mode: Prompt}},
		"a line that scrolls": {func(c *console) {
			c.expand = func(line string) string {
				if len(line) < 30 {
					return line
				}
				return line[:30] + "\r" + c.prompt + "$" + line[20:] + "\x1b[K"
			}
		}, Options{Mode: Prompt}},
		"a line that wraps": {func(c *console) {
			c.expand = func(line string) string {
				if len(line) < 40 {
					return line
				}
				return strings.Repeat(" ", 48) + line[:40] + "\r\n" + line[40:]
			}
		}, Options{Mode: Echo}},
		"reports between": {func(c *console) {
			c.reply = func(line string) string {
				if strings.Contains(line, "site-5") {
					return "%LINK-3-UPDOWN: Interface Gi0/1, changed state to up"
				}
				return ""
			}
		}, Options{Mode: Prompt}},
		"without echo": {func(c *console) { c.hidden = true }, Options{Mode: Prompt}},
	} {
		t.Run(name, func(t *testing.T) {
			text := long
			if name == "without echo" { // a block is answered by its echo alone
				text = config(200)
			}
			c := newConsole()
			tt.change(c)
			var progress []int
			tt.o.Progress = func(n int) { progress = append(progress, n) }
			res := paste(t, c, text, tt.o)
			got, lost := c.got()
			if want := lines(text); !slices.Equal(got, want) || lost > 0 {
				t.Fatalf("the console got %d lines and lost %d bytes, want %d lines; the first that differs is %s", len(got), lost,
					len(want), different(got, want))
			}
			if res.Stopped != "" || res.Answered != len(got) || res.Typed != len(got) || res.Lines != len(got) || res.Refusals != 0 {
				t.Errorf("Run = %+v, want all %d lines answered", res, len(got))
			}
			if len(progress) != len(got) || progress[len(progress)-1] != len(got) {
				t.Errorf("progress was told %d times, want %d", len(progress), len(got))
			}
		})
	}
}

func different(got, want []string) string {
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			return fmt.Sprintf("%d, %q for %q", i+1, slices.Concat(got, []string{""})[min(i, len(got))], want[i])
		}
	}
	return "none"
}

// What stops it, at which line, and what the console has got by then.
func TestStops(t *testing.T) {
	text := config(20)
	refuse := func(c *console) {
		c.reply = func(line string) string {
			if strings.Contains(line, "site-9") {
				return "      ^\r\n% Invalid input detected at '^' marker.\r\n"
			}
			return ""
		}
	}
	for name, tt := range map[string]struct {
		change   func(c *console)
		text     string
		o        Options
		stopped  Stop
		answered int
		got      int // lines of the console
		refusals int
	}{
		"a refused line":            {refuse, text, Options{Mode: Prompt, StopOnError: true}, Refused, 10, 10, 1},
		"a refused line, going on":  {refuse, text, Options{Mode: Prompt}, "", 20, 20, 1},
		"a line without an answer":  {func(c *console) { c.late = map[int]time.Duration{5: time.Hour} }, text, Options{Mode: Prompt}, Unanswered, 4, 5, 0},
		"no echo in time":           {func(c *console) { c.late = map[int]time.Duration{5: 3 * time.Second} }, text, Options{Mode: Echo, LineTimeout: time.Second}, Unanswered, 4, 4, 0},
		"a question":                {func(c *console) { c.ask = map[int]string{3: "Proceed with reload? [confirm]"} }, text, Options{Mode: Prompt, Asks: asks}, Asked, 2, 3, 0},
		"a block that is not begun": {func(c *console) {}, "hostname r1\nbanner motd b\ntext\nb\nend\n", Options{Mode: Prompt}, "", 5, 5, 0},
		"a block that is refused": {func(c *console) {
			c.reply = func(line string) string {
				if strings.HasPrefix(line, "banner") {
					return "% Invalid input"
				}
				return ""
			}
		}, "hostname r1\nbanner motd bad\ntext\nb\nend\n", Options{Mode: Prompt, StopOnError: true}, Refused, 2, 2, 1},
		"a block that is not known": {func(c *console) {}, "hostname r1\nbanner motd bad\ntext\nb\nend\n", Options{Mode: Prompt}, Blocked, 2, 2, 0},
		"a terminal that has ended": {func(c *console) {
			c.reply = func(line string) string {
				if strings.Contains(line, "site-4") {
					c.end()
				}
				return ""
			}
		}, text, Options{Mode: Prompt}, Failed, 5, 5, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := newConsole()
			tt.change(c)
			res := paste(t, c, tt.text, tt.o)
			got, lost := c.got()
			if res.Stopped != tt.stopped && !(tt.stopped == Failed && res.Stopped == Ended) || res.Answered != tt.answered && tt.stopped != Failed ||
				len(got) != tt.got || lost > 0 || res.Refusals != tt.refusals {
				t.Errorf("Run = %+v, the console has %d lines and lost %d bytes; want %q after %d answers and %d lines", res,
					len(got), lost, tt.stopped, tt.answered, tt.got)
			}
			if half := tt.o.Mode == Echo; res.Half != half && tt.stopped != Failed {
				t.Errorf("Run = %+v, want half a line: %t", res, half)
			}
			if tt.refusals > 0 && !slices.ContainsFunc(res.Answers, func(a Answer) bool {
				return a.Refused && strings.Contains(a.Text, "% Invalid input") && !strings.Contains(a.Text, "site")
			}) {
				t.Errorf("the answers are %+v, want the refusal", res.Answers)
			}
		})
	}
}

// A canceled call types nothing more.
func TestCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConsole()
		device, end := context.WithCancel(t.Context())
		go c.run(device)
		ctx, cancel := context.WithCancel(t.Context())
		units, _ := Units(config(100))
		res := Run(ctx, c, units, Options{Mode: Prompt, Ready: isPrompt, Progress: func(n int) {
			if n == 10 {
				cancel()
			}
		}})
		synctest.Wait()
		if got, _ := c.got(); res.Stopped != Canceled && res.Stopped != Failed || len(got) > 11 || res.Answered != 10 {
			t.Errorf("Run = %+v, the console has %d lines; want 10 answered", res, len(got))
		}
		end()
		<-c.stopped
	})
}

// Blocks by their first line.
func TestUnits(t *testing.T) {
	for text, want := range map[string][]int{ // the number of lines of each unit
		"":                                  nil,
		"a\r\nb\rc\n":                       {1, 1, 1},
		"a\n\nb":                            {1, 1, 1},
		"banner motd ^C\nhi\n^C\nend":       {3, 1},
		"banner motd #hi#\nend":             {1, 1},
		"banner exec #\nx\nend of it # \ny": {3, 1},
		"banner login\nHi\nEOF\nend\n":      {3, 1},
		" certificate ca 01\n  3082\n  \tquit\nend":            {3, 1},
		" certificate self-signed 01\n 3082\n quit\ninterface": {3, 1},
		"macro name m\nint\n@\nend":                            {3, 1},
		"cat <<EOF\na\nEOF\nb":                                 {3, 1},
		"cat <<-'E O'\na":                                      {1, 1},
		"cat <<'END' > x\n$a\nEND\n":                           {3},
		"description banner motd #":                            {1},
	} {
		units, err := Units(text)
		var got []int
		first := 1
		for _, u := range units {
			got = append(got, len(u.Lines))
			if u.First != first {
				t.Errorf("Units(%q) has a unit that begins in line %d, want %d", text, u.First, first)
			}
			first += len(u.Lines)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("Units(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"x\nbanner motd #\nhi", "x\ncat <<EOF\na"} {
		if _, err := Units(text); err == nil || !strings.Contains(err.Error(), "line 2") || !strings.Contains(err.Error(), "has no end") {
			t.Errorf("Units(%q) = %v, want that the block of line 2 has no end", text, err)
		}
	}
}

// The echo of a line, as terminals show it.
func TestEcho(t *testing.T) {
	for name, tt := range map[string]struct {
		line, out   string
		seen, ended bool
	}{
		"plain":                   {"show ip route", "show ip route\r\n", true, true},
		"not entered":             {"show ip route", "show ip route", true, false},
		"not yet":                 {"show ip route", "show ip ro", false, false},
		"behind a report":         {"no ip", "%SYS-5: nothing\r\nr1#no ip\r\n", true, true},
		"a report alone":          {"no ip route", "%SYS-5: news\r\nr1#", false, false},
		"expanded":                {"int g0/1", "interface GigabitEthernet0/1\r\n", true, true},
		"tabs":                    {"a\tb", "a       b\r\n", true, true},
		"with colours":            {"ls", "\x1b[1ml\x1b[0ms\x1b]0;s\x07\r\n", true, true},
		"an empty line":           {"", "\r\n", true, true},
		"characters beyond ASCII": {"description Zürich", "description Zürich\r\n", true, true},
		"wrapped":                 {strings.Repeat("ab", 50), "r1# " + strings.Repeat("ab", 38) + "\r\n" + strings.Repeat("ab", 12) + "\r\n", true, true},
	} {
		e := newEcho(tt.line, 80)
		for i := range len(tt.out) { // in single bytes, of which a character may have several
			_ = i
		}
		e.feed([]byte(tt.out))
		if e.seen != tt.seen || e.ended != tt.ended {
			t.Errorf("%s: the echo of %q in %q is seen: %t, ended: %t; want %t, %t", name, tt.line, tt.out, e.seen, e.ended, tt.seen,
				tt.ended)
		}
	}
}
