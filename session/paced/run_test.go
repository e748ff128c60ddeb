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
		if o.Ready == nil {
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
			tt.o.Progress = func(r Result) {
				if r.Taken > 0 {
					progress = append(progress, r.Taken)
				}
			}
			res := paste(t, c, text, tt.o)
			got, lost := c.got()
			if want := lines(text); !slices.Equal(got, want) || lost > 0 {
				t.Fatalf("the console got %d lines and lost %d bytes, want %d lines; the first that differs is %s", len(got), lost,
					len(want), different(got, want))
			}
			if res.Stopped != "" || res.Taken != len(got) || res.Typed != len(got) || res.Lines != len(got) || res.Errors != 0 {
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

// TestStops checks the reason and the line of each stop, and the lines that the console has read by then.
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
	refuseBare := func(c *console) {
		refuse(c)
		c.bare = true
		whole := c.reply
		c.reply = func(line string) string {
			if a := whole(line); a != "" {
				return a + "of all of it"
			}
			return ""
		}
	}
	refuseBanner := func(c *console) {
		c.reply = func(line string) string {
			if strings.HasPrefix(line, "banner") {
				return "% Invalid input"
			}
			return ""
		}
	}
	const badBanner = "hostname r1\nbanner motd #bad\nreload in 5\n#\nend\n"
	late := func(n int, d time.Duration) func(c *console) {
		return func(c *console) { c.late = map[int]time.Duration{n: d} }
	}
	for name, tt := range map[string]struct {
		change  func(c *console)
		text    string
		o       Options
		stopped Stop
		at      int // number of the line
		taken   int
		half    bool // a part of the next line went out
		got     int  // lines of the console
		errors  int
	}{
		"a refused line":           {refuse, text, Options{Mode: Prompt, StopOnError: true}, Error, 10, 10, false, 10, 1},
		"a refused line, going on": {refuse, text, Options{Mode: Prompt}, "", 0, 20, false, 20, 1},
		"a refused line, by its echo": { // the beginning of the next line is out when the refusal comes
			refuse, text, Options{Mode: Echo, StopOnError: true}, Error, 10, 10, true, 10, 1},
		"a refused last line, by its echo":       {refuse, config(10), Options{Mode: Echo, StopOnError: true}, Error, 10, 10, false, 10, 1},
		"a refused line, by its time":            {refuse, text, Options{Mode: Delay, StopOnError: true, CharDelay: 2 * time.Millisecond}, Error, 10, 10, false, 10, 1},
		"a refusal without a line end":           {refuseBare, text, Options{Mode: Prompt, StopOnError: true}, Error, 10, 10, false, 10, 1},
		"a refusal without a line end, going on": {refuseBare, text, Options{Mode: Prompt}, "", 0, 20, false, 20, 1},
		"a line without an answer":               {late(5, time.Hour), text, Options{Mode: Prompt}, Unanswered, 5, 4, false, 5, 0},
		"no echo in time":                        {late(5, 3*time.Second), text, Options{Mode: Echo, LineTimeout: time.Second}, Unanswered, 5, 4, true, 4, 0},
		"a question": {func(c *console) { c.ask = map[int]string{3: "Proceed with reload? [confirm]"} }, text,
			Options{Mode: Prompt, Asks: asks}, Question, 3, 2, false, 3, 0},
		"a question, by the echo": {func(c *console) { c.ask = map[int]string{3: "Proceed with reload? [confirm]"}; c.work = 0 }, text,
			Options{Mode: Echo, Asks: asks}, Question, 3, 3, false, 3, 0},
		"a word for a mark":       {func(*console) {}, "hostname r1\nbanner motd b\ntext\nb\nend\n", Options{Mode: Prompt}, "", 0, 5, false, 5, 0},
		"a block that is refused": {refuseBanner, badBanner, Options{Mode: Prompt, StopOnError: true}, Error, 2, 2, false, 2, 1},
		"a block that is refused late": {func(c *console) {
			refuseBanner(c)
			c.delay = func(line string) time.Duration { return time.Duration(strings.Count(line, "banner")) * 2 * time.Second }
		}, badBanner, Options{Mode: Prompt, StopOnError: true}, Error, 2, 2, true, 2, 1},
		"a block that is not known":    {func(*console) {}, badBanner, Options{Mode: Prompt}, Block, 2, 2, false, 2, 0},
		"a line that may not be typed": {func(c *console) { c.forbidden = 7 }, text, Options{Mode: Prompt}, Refused, 7, 6, false, 6, 0},
		"a terminal that has ended": {func(c *console) {
			c.reply = func(line string) string {
				if strings.Contains(line, "site-4") {
					c.end()
				}
				return ""
			}
		}, text, Options{Mode: Prompt}, Closed, 6, 5, false, 5, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := newConsole()
			tt.change(c)
			res := paste(t, c, tt.text, tt.o)
			got, lost := c.got()
			typed := tt.taken
			if tt.stopped != "" && (tt.half || tt.at > tt.taken && tt.stopped != Refused && tt.stopped != Closed) {
				typed++
			}
			if res.Stopped != tt.stopped || res.At != tt.at || res.Taken != tt.taken || res.Typed != typed || res.Half != tt.half ||
				res.Errors != tt.errors {
				t.Errorf("Run = %+v; want it %q at line %d, %d lines taken, %d typed, half a line: %t, %d errors", res, tt.stopped, tt.at,
					tt.taken, typed, tt.half, tt.errors)
			}
			if want := lines(tt.text)[:tt.got]; !slices.Equal(got, want) || lost > 0 {
				t.Errorf("the console has %q and lost %d bytes, want %q", got, lost, want)
			}
			if tt.at > 0 && res.Line != lines(tt.text)[tt.at-1] {
				t.Errorf("it stopped at %q, want line %d", res.Line, tt.at)
			}
			if refused := func(a Answer) bool {
				return a.Error && strings.Contains(a.Text, "% Invalid input") && !strings.Contains(a.Text, "site") &&
					!strings.Contains(a.Text, "r1(config)")
			}; tt.errors > 0 && !slices.ContainsFunc(res.Answers, refused) {
				t.Errorf("the answers are %+v, want the refusal", res.Answers)
			}
			if (tt.stopped == Error) != strings.Contains(res.Answer, "% Invalid input") || (res.Err != nil) != (tt.stopped == Refused) {
				t.Errorf("the answer is %q and the error %v, at %q", res.Answer, res.Err, tt.stopped)
			}
		})
	}
}

// The transcript has the lines that were answered with text, and the text.
func TestTranscript(t *testing.T) {
	for _, mode := range []Mode{Prompt, Echo, Delay} {
		c := newConsole()
		c.reply = func(line string) string {
			if strings.HasPrefix(line, "show") {
				return "one\r\n  two"
			}
			return ""
		}
		var out strings.Builder
		res := paste(t, c, "hostname r1\nshow it\nend\n", Options{Mode: mode, Transcript: &out, CharDelay: time.Millisecond})
		want := "r1(config)#show it\r\none\r\n  two\r\n"
		if mode == Echo { // the prompt comes later than the next line
			want = "show it\r\none\r\n  two\r\n"
		}
		if got := strings.TrimSuffix(out.String(), "\r\n") + "\r\n"; got != want || res.Taken != 3 {
			t.Errorf("in mode %s the transcript is %q of %+v, want %q", mode, got, res, want)
		}
		if a := res.Answers; len(a) != 1 || a[0] != (Answer{Line: 2, Sent: "show it", Text: "one\n  two"}) {
			t.Errorf("in mode %s the answers are %+v, want that to line 2", mode, a)
		}
	}
}

// A transcript has no secret that a line has, or its answer repeats.
func TestTranscriptHidesSecrets(t *testing.T) {
	c := newConsole()
	c.reply = func(line string) string { return "% Invalid input: " + line }
	var out strings.Builder
	paste(t, c, "username a secret hunter-1138\nshow it\n", Options{Mode: Prompt, Transcript: &out})
	want := "r1(config)#username a secret [redacted]\r\n% Invalid input: username a secret [redacted]\r\n" +
		"r1(config)#show it\r\n% Invalid input: show it\r\n"
	if got := out.String(); got != want {
		t.Errorf("the transcript is %q, want %q", got, want)
	}
}

// Of answers without end, the beginning and the counts are kept.
func TestManyAnswers(t *testing.T) {
	c := newConsole()
	c.work = 0
	c.reply = func(line string) string { return strings.Repeat("x", 70) }
	res := paste(t, c, config(1500), Options{Mode: Prompt})
	if res.Taken != 1500 || len(res.Answers)+res.Omitted != 1500 || len(res.Answers) < 500 || len(res.Answers) > maxAnswers {
		t.Errorf("Run = %d lines taken, %d answers and %d omitted, want 1500 in all", res.Taken, len(res.Answers), res.Omitted)
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
		res := Run(ctx, c, units, Options{Mode: Prompt, Ready: isPrompt, Progress: func(r Result) {
			if r.Taken == 10 {
				cancel()
			}
		}})
		synctest.Wait()
		if got, _ := c.got(); res.Stopped != Canceled || len(got) > 11 || res.Taken != 10 {
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
		"banner motd line Hi there\nend":    {1, 1},
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
	long := strings.Repeat("ab", 50)
	for name, tt := range map[string]struct {
		at          string // the prompt
		line, out   string
		seen, ended bool
	}{
		"plain":                   {"r1#", "show ip route", "show ip route\r\n", true, true},
		"not entered":             {"r1#", "show ip route", "show ip route", true, false},
		"not yet":                 {"r1#", "show ip route", "show ip ro", false, false},
		"behind a report":         {"r1#", "no ip", "\r\n%SYS-5: nothing\r\nr1#no ip\r\n", true, true},
		"a report alone":          {"r1#", "no ip route", "\r\n%SYS-5: news are long\r\nr1#", false, false},
		"a report in its row":     {"r1#", "no ip route", "%SYS-5: news are long\r\nr1#", false, false},
		"expanded":                {"r1#", "int g0/1", "interface GigabitEthernet0/1\r\n", true, true},
		"drawn again":             {"r1#", "int g0/1", "int g0/1\b\b\b\b\b\b\b\binterface gigabit0/1\r\n", true, true},
		"a secret shown as stars": {"r1#", "username a password secret", "username a password ******\r\n", true, true},
		"scrolled alone":          {"r1#", long + " and its end", "\rr1#$ab and its end\r\n", true, true},
		"another end":             {"r1#", long + " and its end", "\rr1#$ab and no end\r\n", false, false},
		"tabs":                    {"r1#", "a\tb", "a       b\r\n", true, true},
		"with colours":            {"", "ls", "\x1b[1ml\x1b[0ms\x1b]0;s\x07\r\n", true, true},
		"an empty line":           {"r1#", "", "\r\n", true, true},
		"characters beyond ASCII": {"r1#", "description Zürich", "description Zürich\r\n", true, true},
		"wrapped":                 {"r1# ", long, strings.Repeat("ab", 38) + "\r\n" + strings.Repeat("ab", 12) + "\r\n", true, true},
		"wrapped, not at the edge": {"r1# ", long, strings.Repeat("ab", 20) + "\r\n" + strings.Repeat("ab", 30) + "\r\n",
			false, false},
	} {
		for _, size := range []int{1, len(tt.out)} {
			e := newEcho(tt.line, tt.at, tt.at != "", 80)
			for p := range slices.Chunk([]byte(tt.out), size) {
				if size == 1 && p[0] >= 0x80 { // half a character: the terminal's output is whole characters mostly
					e.feed([]byte(tt.out))
					break
				}
				e.feed(p)
			}
			if e.seen != tt.seen || e.ended != tt.ended {
				t.Errorf("%s: the echo of %q in %q is seen: %t, ended: %t; want %t, %t", name, tt.line, tt.out, e.seen, e.ended,
					tt.seen, tt.ended)
			}
		}
	}
}
