package text_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"ptyctl/buffer"
	"ptyctl/session"
	"ptyctl/session/output"
	"ptyctl/session/text"
	"ptyctl/term"
)

// numbered renders lines as "number:text|".
func numbered(l session.Lines) string {
	var b strings.Builder
	for n, text := range l.All {
		fmt.Fprintf(&b, "%d:%s|", n, text)
	}
	return b.String()
}

func TestLines(t *testing.T) {
	for _, c := range []struct {
		name, out string
		skip, n   int
		want      string
		total     int
	}{
		{name: "nothing"},
		{name: "CRLF", out: "one\r\ntwo\r\n", want: "1:one|2:two|", total: 2},
		{name: "partial", out: "one\ntwo", want: "1:one|2:two|", total: 2},
		{name: "empty lines", out: "\n\n\nx", want: "1:|2:|3:|4:x|", total: 4},
		{name: "a page", out: "a\nb\nc\nd\n", skip: 1, n: 2, want: "2:b|3:c|", total: 4},
		{name: "the last page", out: "a\nb\nc\nd", skip: 3, n: 2, want: "4:d|", total: 4},
		{name: "past the end", out: "a\n", skip: 1, n: 2, total: 1},
		{name: "escape sequences", out: "\x1b[31mred\x1b[0m\n\x1b]0;title\a$ ", want: "1:red|2:$ |", total: 2},
		{name: "progress", out: "10%\r50%\r100%\r\ndone\r\n", want: "1:100%|2:done|", total: 2},
		{name: "a sequence across lines", out: "a\x1b]0;ti\ntle\ab\nc", want: "1:|2:ab|3:c|", total: 3},
		{name: "a sequence begun on the page before", out: "a\n\x1b[8msecret\nb\x1b[0mc\nd\n", skip: 2, n: 1, want: "3:bc|", total: 4},
		{name: "drawn elsewhere", out: "a\x1b[5;1Hb\x1b[6;1Hc\nd", want: "1:a b c|2:d|", total: 2},
		{name: "bad UTF-8", out: "a\xffb\n\xc3\n", want: "1:a\uFFFDb|2:\uFFFD|", total: 2},
		{name: "the first bytes of a rune", out: "caf\xc3", want: "1:caf|", total: 1},
		{name: "invisible", out: "a\u202eb\u200bc\n", want: "1:abc|", total: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, far := start(t, 0, session.Options{})
				put(t, far, c.out)
				l := s.Lines(t.Context(), c.skip, c.n)
				if got := numbered(l); got != c.want || l.Total != c.total || l.Dropped != 0 {
					t.Errorf("%q becomes %q of %d, %d dropped; want %q of %d", c.out, got, l.Total, l.Dropped, c.want, c.total)
				}
			})
		})
	}
}

// However the output is cut into pages, the lines are the same.
func TestLinesInPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := start(t, 0, session.Options{})
		var out strings.Builder
		for i := range 300 {
			fmt.Fprintf(
				&out,
				"%d\x1b[1;3%dm%s\x1b[0m é🙂\x1b]0;title %d\a\rX%s\r\n",
				i,
				i%8,
				strings.Repeat("wide ", i%40),
				i,
				[]string{"", "\x1b[K", "\xff", "\tend"}[i%4],
			)
		}
		put(t, far, out.String()+"$ ")
		whole := numbered(s.Lines(t.Context(), 0, 0))
		for _, n := range []int{1, 2, 7, 100, 300, 301, 1000} {
			var pages strings.Builder
			for from := 0; from < 301; from += n {
				pages.WriteString(numbered(s.Lines(t.Context(), from, n)))
			}
			if pages.String() != whole {
				t.Errorf("in pages of %d lines:\n%s\nat once:\n%s", n, pages.String(), whole)
			}
		}
	})
}

// Once the stream has ended, no rest of a rune can come.
func TestLinesAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := start(t, 0, session.Options{})
		put(t, far, "caf\xc3")
		far.Close()
		<-s.Ended()
		if got := numbered(s.Lines(t.Context(), 0, 0)); got != "1:caf\uFFFD|" {
			t.Errorf("lines after the end = %q, want one with the cut rune replaced", got)
		}
	})
}

// Lines are numbered from the oldest one held, whether whole lines were dropped or bytes in the midst of one.
func TestLinesDropped(t *testing.T) {
	for _, c := range []struct {
		o       session.Options
		out     string
		want    string
		total   int
		dropped int64
	}{
		{session.Options{BufferLines: 3}, "1\n2\n3\n4\n5\n", "1:3|2:4|3:5|", 3, 4},
		{session.Options{BufferBytes: 5}, "12\n34\n56", "1:34|2:56|", 2, 3},
		{session.Options{BufferBytes: 6}, "1é\n34\n56", "1:|2:34|3:56|", 3, 3},
		{session.Options{BufferBytes: 7}, "1é\n34\n56", "1:|2:34|3:56|", 3, 2}, // the cut is within the é
	} {
		synctest.Test(t, func(t *testing.T) {
			s, far := start(t, 0, c.o)
			put(t, far, c.out)
			l := s.Lines(t.Context(), 0, 0)
			if got := numbered(l); got != c.want || l.Total != c.total || l.Dropped != c.dropped {
				t.Errorf(
					"%q in %+v becomes %q of %d, %d dropped; want %q of %d, %d dropped",
					c.out,
					c.o,
					got,
					l.Total,
					l.Dropped,
					c.want,
					c.total,
					c.dropped,
				)
			}
		})
	}
}

// To read lines is on record as any reading is.
func TestLinesOnRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := new(diary)
		s, far := start(t, 0, session.Options{Observers: []term.Observer{d}})
		put(t, far, "one\ntwo\n")
		s.Lines(task("t1"), 1, 1)
		got := d.Of(term.VerbRead)
		if len(got) != 1 || got[0].Size != len("two\n") || got[0].Actor.Task != "t1" {
			t.Errorf("read events = %+v, want one of task t1 with the size of \"two\\n\"", got)
		}
		if s.Info().Drained.IsZero() {
			t.Error("the reader had everything, and status does not say so")
		}
	})
}

// Whatever comes, there are as many lines as are counted, and each is text on one line.
func FuzzLines(f *testing.F) {
	f.Add([]byte("one\r\ntwo"), 0, 0)
	f.Add([]byte("a\x1b[5;1Hb\n\x1b]0;ti\ntle\a\xff\xc3"), 1, 2)
	f.Add([]byte(strings.Repeat("x", 121)+"\x1b[A\r\n\rX\ny\n"), 0, 1)
	f.Fuzz(func(t *testing.T, out []byte, skip, n int) {
		s, far := start(t, 0, session.Options{BufferBytes: 256})
		go func() {
			_, _ = far.Write(out)
			far.Close()
		}()
		<-s.Ended()
		l := s.Lines(t.Context(), skip, n)
		next := max(skip, 0) + 1
		for number, text := range l.All {
			if number != next || !utf8.Valid(text) ||
				strings.ContainsFunc(string(text), func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				t.Fatalf("%q: line %d, want %d, is %q", out, number, next, text)
			}
			next++
		}
		want := max(0, l.Total-max(skip, 0))
		if n > 0 {
			want = min(want, n)
		}
		if got := next - 1 - max(skip, 0); got != want {
			t.Fatalf("%q: %d lines without %d, at most %d, of %d", out, got, skip, n, l.Total)
		}
	})
}

// BenchmarkLines reads 50,000 lines page by page, as a ratio to reading them at once. If a page cost as much as the
// whole, it would be 100.
func BenchmarkLines(b *testing.B) {
	s, far := start(b, 0, session.Options{BufferBytes: 8 << 20})
	const lines, page = 50_000, 500
	go func() {
		for n := range lines {
			fmt.Fprintf(far, "line %d of the output of a program that has much to tell, in eighty columns or so\r\n", n)
		}
		far.Close()
	}()
	<-s.Ended()
	read := func(page int) {
		n := 0
		for n < lines {
			before := n
			for range s.Lines(b.Context(), n, page).All {
				n++
			}
			if n == before {
				b.Fatalf("%d of %d lines", n, lines)
			}
		}
	}
	var paged, whole time.Duration
	for b.Loop() {
		paged += since(func() { read(page) })
		whole += since(func() { read(lines) })
	}
	b.ReportMetric(float64(paged)/float64(whole), "x-whole")
}

// found renders a result as "number:text" lines, matches marked with *.
func found(r session.SearchResult) string {
	var b strings.Builder
	for _, l := range r.Lines {
		mark := ""
		if l.Match {
			mark = "*"
		}
		fmt.Fprintf(&b, "%d%s:%s ", l.Number, mark, l.Text)
	}
	return strings.TrimSpace(b.String())
}

func TestSearch(t *testing.T) {
	s, far := start(t, 0, session.Options{BufferBytes: 1 << 10})
	const text = "one\r\ntwo\nthree\nfour\nfive\nthirty"
	go func() { _, _ = far.Write([]byte(text)) }()
	s.Read(t.Context(), session.ReadRequest{Cursor: 0, Until: re("thirty$"), Timeout: 10 * time.Second})

	for _, c := range []struct {
		r    session.SearchRequest
		want string
		more bool
	}{
		{session.SearchRequest{Pattern: re("o")}, "1*:one 2*:two 4*:four", false},
		{session.SearchRequest{Pattern: re("^th")}, "3*:three 6*:thirty", false},
		{session.SearchRequest{Pattern: re("four"), Context: 1}, "3:three 4*:four 5:five", false},
		{session.SearchRequest{Pattern: re("two|four"), Context: 1}, "1:one 2*:two 3:three 4*:four 5:five", false},
		{session.SearchRequest{Pattern: re("e$"), Max: 2}, "1*:one 3*:three", true},
		{session.SearchRequest{Pattern: re("e$"), Cursor: 9}, "3*:three 5*:five", false},
		{session.SearchRequest{Pattern: re("nothing")}, "", false},
		{session.SearchRequest{Pattern: re(""), Cursor: 1 << 40}, "", false},
	} {
		got := s.Search(t.Context(), c.r)
		if found(got) != c.want || got.More != c.more {
			t.Errorf("%v from %d: %q, more %t; want %q, %t", c.r.Pattern, c.r.Cursor, found(got), got.More, c.want, c.more)
		}
		if got.More {
			c.r.Cursor = got.Next
			if rest := s.Search(t.Context(), c.r); found(rest) != "5*:five" || rest.More {
				t.Errorf("the rest: %q", found(rest))
			}
		}
	}
}

// Dropped lines are reported, and numbers count from the lines held.
func TestSearchDropped(t *testing.T) {
	s, far := start(t, 0, session.Options{BufferBytes: 64})
	go func() { _, _ = far.Write([]byte(strings.Repeat("0123456\n", 100) + "end")) }()
	s.Read(t.Context(), session.ReadRequest{Cursor: 0, Until: re("end$"), Timeout: 10 * time.Second})
	got := s.Search(t.Context(), session.SearchRequest{Pattern: re("6$|end"), Max: 1000})
	if got.Dropped != 803-64 || got.Matches != 9 {
		t.Errorf("dropped %d, %d matches: %s", got.Dropped, got.Matches, found(got))
	}
}

// A sequence, a line that is drawn over and a rune that a break of the buffer has cut end there.
func TestBreaks(t *testing.T) {
	b := buffer.New(buffer.Options{})
	for _, part := range []string{"one\r\nfirst\x1b]0;ti", "tle\r\nlong text\rxy", "Z\x1b[3", "1mred\r\nlast"} {
		_, _ = b.Write([]byte(part))
		_ = b.Close()
		b.Reopen()
	}
	v := text.View{Buffer: b, Cols: 80}
	all := b.At(0, 0)
	const want = "one\nfirsttle\nxyng textZ1mred\nlast"
	if got, _ := v.Clean(0, all.Data); string(got) != want {
		t.Errorf("Clean = %q, want %q", got, want)
	}
	if got, _ := v.Clean(19, all.Data[19:]); !strings.HasSuffix(want, string(got)) || len(got) < 20 {
		t.Errorf("Clean from a cut sequence = %q, want an end of %q", got, want)
	}
	if got, want := numbered(v.Lines(0, 0)), "1:one|2:firsttle|3:xyng textZ1mred|4:last|"; got != want {
		t.Errorf("Lines = %q, want %q", got, want)
	}
	// Where lines are judged, each connection has its own.
	for _, c := range []struct {
		pattern, found string
		number         int64
	}{
		{`^first$`, "first", 2}, {`^tle$`, "tle", 2}, {`^xyng text$`, "xyng text", 3}, {`^1mred$`, "1mred", 3},
		{`^last$`, "last", 4}, {`tt|tZ`, "", 0},
	} {
		res := v.Search(t.Context(), text.SearchRequest{Pattern: re(c.pattern), Clean: true})
		found, number := "", int64(0)
		for _, l := range res.Lines {
			found, number = found+string(l.Text), l.Number
		}
		if found != c.found || number != c.number {
			t.Errorf("Search(%s) = %q in line %d, want %q in line %d", c.pattern, found, number, c.found, c.number)
		}
		f := v.Filter(
			t.Context(), text.Filter{Pattern: re(c.pattern), Clean: true}, 0, []output.Part{{Data: all.Data}}, false,
		)
		if got := strings.TrimSuffix(string(f.Text), "\n"); got != c.found {
			t.Errorf("Filter(%s) = %q, want %q", c.pattern, got, c.found)
		}
	}
	f := v.Filter(t.Context(), text.Filter{Pattern: re(`t`), Clean: true}, 0, []output.Part{{Data: all.Data}}, false)
	if want := "first\ntle\nxyng text\nlast"; string(f.Text) != want {
		t.Errorf("Filter(t) = %q, want %q: a line of each connection", f.Text, want)
	}
}
