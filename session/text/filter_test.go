package text_test

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"ptyctl/buffer"
	"ptyctl/session/output"
	"ptyctl/session/text"
)

// filter applies f to all of an output that was not made for a terminal.
func filter(f text.Filter, out string, more bool) text.Filtered {
	v := text.View{Buffer: buffer.New(buffer.Options{}), NoTerminal: true}
	return v.Filter(context.Background(), f, 0, []output.Part{{Data: []byte(out)}}, more)
}

func TestFilter(t *testing.T) {
	const six = "one\ntwo\nthree\nfour\nfive\nsix\n"
	for _, c := range []struct {
		name, expr     string
		context        int
		out            string
		more           bool
		want           string
		matches, lines int
		next           int
	}{
		{"none", "x", 0, "one\ntwo\n", false, "", 0, 2, 8},
		{"no output", ".", 0, "", false, "", 0, 0, 0},
		{"first and last", "^(one|six)$", 0, six, false, "one\nsix\n", 2, 6, len(six)},
		{"first and last with context", "^(one|six)$", 1, six, false, "one\ntwo\n--\nfive\nsix\n", 2, 6, len(six)},
		{"context that overlaps", "^(two|four)$", 1, six, false, "one\ntwo\nthree\nfour\nfive\n", 2, 6, len(six)},
		{"context that touches", "^(one|four)$", 1, six, false, "one\ntwo\nthree\nfour\nfive\n", 2, 6, len(six)},
		{"context beyond both ends", "three", 50, six, false, six, 1, 6, len(six)},
		{"neighbours", "t", 1, six, false, "one\ntwo\nthree\nfour\n", 2, 6, len(six)},
		{"all", "", 0, six, false, six, 6, 6, len(six)},
		{"CR LF", "^two$", 0, "one\r\ntwo\r\n", false, "two\r\n", 1, 2, 10},
		{"an unfinished last line at the end", "tw", 0, "one\ntwo", false, "two", 1, 2, 7},
		{"an unfinished last line that goes on", "tw", 0, "one\ntwo", true, "", 0, 1, 4},
		{"nothing but an unfinished line", "tw", 0, "two", true, "", 0, 0, 0},
		{"empty lines", "^$", 0, "\n\nx\n", false, "\n\n", 2, 3, 4},
		{"colours", "^red$", 0, "\x1b[31mred\x1b[0m\nblue\n", false, "red\n", 1, 2, 18},
		{"other escapes", "clear", 0, "\x1b[2Jclear\n", false, "\\x1b[2Jclear\n", 1, 1, 10},
		{"a line of Latin-1", "^caf", 0, "caf\xe9 \x1b[1mx\ncafe\n", false, "caf\xe9 \x1b[1mx\ncafe\n", 2, 2, 16},
		{"Latin-1 in other lines only", "^cafe", 0, "caf\xe9\ncafe\n", false, "cafe\n", 1, 2, 10},
		{"CR within a line", "20", 0, "10%\r20%\rx\n", false, "10%\r20%\rx\n", 1, 1, 10},
		{"NUL", "b", 0, "a\x00b\nc\n", false, "a\x00b\n", 1, 2, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := text.Filter{Pattern: regexp.MustCompile(c.expr), Context: c.context, Clean: true}
			got := filter(f, c.out, c.more)
			if string(got.Text) != c.want || got.Matches != c.matches || got.Lines != c.lines || got.Next != int64(c.next) || got.Full {
				t.Errorf("%s with %d in %q gives %q, %d of %d lines, next %d; want %q, %d of %d, next %d",
					c.expr, c.context, c.out, got.Text, got.Matches, got.Lines, got.Next, c.want, c.matches, c.lines, c.next)
			}
			if whole := c.want == c.out; !c.more && c.name != "colours" && c.name != "other escapes" && got.Whole() != whole {
				t.Errorf("%s in %q: whole %v, want %v", c.expr, c.out, got.Whole(), whole)
			}
		})
	}
}

// As it came, a line is judged and returned with its escape sequences.
func TestFilterRaw(t *testing.T) {
	const out = "\x1b[31mred\x1b[0m\r\nred\r\n"
	got := filter(text.Filter{Pattern: regexp.MustCompile(`^red$`)}, out, false)
	if string(got.Text) != "red\r\n" || got.Matches != 1 {
		t.Errorf("^red$ in %q gives %q, %d matches; want the second line", out, got.Text, got.Matches)
	}
	got = filter(text.Filter{Pattern: regexp.MustCompile(`31m`)}, out, false)
	if string(got.Text) != "\x1b[31mred\x1b[0m\r\n" {
		t.Errorf("31m in %q gives %q, want the first line as it is", out, got.Text)
	}
}

// Of a terminal, a line is as a person sees it.
func TestFilterTerminal(t *testing.T) {
	const out = "\x1b[31mred\x1b[0m\r\n10%\r20%\r100%\r\n\x1b]0;title\ared\r\n$ "
	v := text.View{Buffer: buffer.New(buffer.Options{}), Cols: 80}
	for expr, want := range map[string]string{`^red$`: "red\nred\n", `20%`: "", `^100%$`: "100%\n", `\$ $`: "$ ", `title`: ""} {
		got := v.Filter(t.Context(), text.Filter{Pattern: regexp.MustCompile(expr), Clean: true}, 0,
			[]output.Part{{Data: []byte(out)}}, false)
		if string(got.Text) != want || got.Lines != 4 {
			t.Errorf("%s in %q gives %q of %d lines, want %q of 4", expr, out, got.Text, got.Lines, want)
		}
	}
}

// A text that is full ends with a whole line, and names the place to go on; with it nothing is missed or repeated.
func TestFilterFull(t *testing.T) {
	var out strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&out, "line %d é\n", i)
	}
	all := out.String()
	for _, around := range []int{0, 2} {
		for _, most := range []int{64, 100, 1000, 5000} {
			f := text.Filter{Pattern: regexp.MustCompile(`[37]5 `), Context: around, Max: most, Clean: true}
			whole := f
			whole.Max = 0
			want := strings.ReplaceAll(string(filter(whole, all, false).Text), "--\n", "")
			var got strings.Builder
			shown, rounds := 0, 0
			for from := int64(0); ; rounds++ {
				part := output.Part{Start: from, Data: []byte(all[from:])}
				v := text.View{Buffer: buffer.New(buffer.Options{}), NoTerminal: true}
				r := v.Filter(t.Context(), f, from, []output.Part{part}, false)
				if len(r.Text) > most {
					t.Fatalf("at most %d bytes: got %d", most, len(r.Text))
				}
				got.Write(r.Text)
				shown += r.Shown
				if !r.Full {
					break
				}
				if r.Next <= from || r.Matches <= r.Shown && around == 0 {
					t.Fatalf("at most %d bytes from %d: full at %d with %d of %d matches", most, from, r.Next, r.Shown, r.Matches)
				}
				from = r.Next
			}
			if text := strings.ReplaceAll(got.String(), "--\n", ""); around == 0 && text != want {
				t.Errorf("at most %d bytes, context %d: %q in %d parts, want %q", most, around, text, rounds, want)
			}
			if shown != 20 {
				t.Errorf("at most %d bytes, context %d: %d matches shown, want 20", most, around, shown)
			}
		}
	}
}

// Of a very long line there are the surroundings of the match, and marks where something was cut.
func TestFilterLongLine(t *testing.T) {
	long := strings.Repeat("é", 5000) + "needle" + strings.Repeat("ü", 5000)
	got := filter(text.Filter{Pattern: regexp.MustCompile("needle"), Max: 4000, Clean: true}, "short\n"+long+"\nneedle\n", false)
	s := string(got.Text)
	if !utf8.ValidString(s) || !strings.Contains(s, "éneedleü") || !strings.HasPrefix(s, "[... 9") ||
		!strings.HasSuffix(s, "bytes left out ...]\nneedle\n") || len(s) > 1200 || got.Matches != 2 {
		t.Errorf("needle in a line of %d bytes gives %d bytes, %.80q ... %q", len(long), len(s), s, s[max(len(s)-80, 0):])
	}
	// Without a limit it is whole.
	if got = filter(text.Filter{Pattern: regexp.MustCompile("needle")}, long+"\n", false); string(got.Text) != long+"\n" {
		t.Errorf("needle without a limit gives %d bytes, want the line of %d", len(got.Text), len(long)+1)
	}
}

// Bytes no longer held are counted, with the rest of the line that it ends in.
func TestFilterGap(t *testing.T) {
	v := text.View{Buffer: buffer.New(buffer.Options{}), NoTerminal: true}
	parts := []output.Part{{Data: []byte("a1\na2")}, {Start: 100, Data: []byte("rest a3\na4\n")}}
	got := v.Filter(t.Context(), text.Filter{Pattern: regexp.MustCompile("a"), Context: 1, Clean: true}, 0, parts, false)
	if string(got.Text) != "a1\na2\na4\n" || got.Lines != 3 || got.Unsearched != 95+8 || got.Next != 111 || got.Whole() {
		t.Errorf("with a gap: %q, %d lines, %d bytes unsearched, next %d; want a1, a2, a4 of 3 lines, 103 bytes, next 111",
			got.Text, got.Lines, got.Unsearched, got.Next)
	}
}

// A chunk that begins in the midst of a line is judged with all of that line.
func TestFilterWholeLine(t *testing.T) {
	b := buffer.New(buffer.Options{})
	const out = "first\nsecond and\n"
	_, _ = b.Write([]byte(out))
	v := text.View{Buffer: b, NoTerminal: true}
	for from := range len(out) {
		part := v.Whole(int64(from), []byte(out[from:]))
		want := out
		if from >= len("first\n") {
			want = "second and\n"
		}
		if got := string(part.Data); got != want || part.Start != int64(len(out)-len(want)) {
			t.Errorf("from %d: %q at %d, want %q", from, got, part.Start, want)
		}
	}
}

// FuzzFilter compares the filter with a plain implementation.
func FuzzFilter(f *testing.F) {
	f.Add([]byte("one\r\ntwo\nthree"), "o", 1, 0)
	f.Add([]byte("\x1b[31ma\x1b[0m\n\xff\nb\n\n"), "a|b", 0, 30)
	f.Fuzz(func(t *testing.T, out []byte, expr string, around, most int) {
		re, err := regexp.Compile(expr)
		if err != nil || len(expr) > 50 || len(out) > 1<<12 {
			t.Skip()
		}
		around, most = min(max(around, 0), 50), max(most, 0)
		got := filter(text.Filter{Pattern: re, Context: around, Max: most}, string(out), false)
		lines := bytes.SplitAfter(out, []byte("\n"))
		if n := len(lines); len(lines[n-1]) == 0 {
			lines = lines[:n-1]
		}
		var want bytes.Buffer
		matches, last := 0, -1
		for i, line := range lines {
			near := false
			for j := max(i-around, 0); j <= min(i+around, len(lines)-1); j++ {
				near = near || re.Match(bytes.TrimSuffix(bytes.TrimSuffix(lines[j], []byte("\n")), []byte("\r")))
			}
			if re.Match(bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))) {
				matches++
			}
			if !near {
				continue
			}
			if around > 0 && last >= 0 && i > last+1 {
				want.WriteString("--\n")
			}
			want.Write(line)
			last = i
		}
		if got.Lines != len(lines) || got.Matches != matches {
			t.Fatalf("%q in %q: %d of %d lines, want %d of %d", expr, out, got.Matches, got.Lines, matches, len(lines))
		}
		if most == 0 && !bytes.Equal(got.Text, want.Bytes()) {
			t.Fatalf("%q in %q with %d around: %q, want %q", expr, out, around, got.Text, want.Bytes())
		}
		if most > 0 && len(got.Text) > most && (got.Put > 1 || len(got.Text) > max(most, 200)) {
			t.Fatalf("%q in %q: %d bytes, want at most %d", expr, out, len(got.Text), most)
		}
	})
}

// BenchmarkFilter measures how fast the lines that match are found in 1 MiB of a log.
func BenchmarkFilter(b *testing.B) {
	var out strings.Builder
	for i := 0; out.Len() < 1<<20; i++ {
		fmt.Fprintf(&out, "2026-01-02T03:04:05Z host app[%d]: request %d took %d ms\n", i%97, i, i%1000)
	}
	for _, expr := range []string{`took 99\d ms`, `(?i)error|REQUEST 77 `, `\d{5} took 1 ms$`} {
		b.Run(expr, func(b *testing.B) {
			b.SetBytes(int64(out.Len()))
			f := text.Filter{Pattern: regexp.MustCompile(expr), Max: 16 << 10, Clean: true}
			for b.Loop() {
				if got := filter(f, out.String(), false); got.Matches == 0 {
					b.Fatal("no line matches")
				}
			}
		})
	}
}

// The cursor of a search that its caller has given up is behind the lines looked at, not at the end.
func TestFilterGivenUp(t *testing.T) {
	const out = "one\ntwo\n"
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, parts := range [][]output.Part{
		{{Start: 5, Data: []byte(out)}},
		{{Start: 5, Data: []byte(out)}, {Start: 100, Data: []byte(out)}},
	} {
		got := (text.View{Buffer: buffer.New(buffer.Options{}), NoTerminal: true}).Filter(ctx, text.Filter{Pattern: regexp.MustCompile("two")}, 5, parts, false)
		if got.Next != 5 || got.Lines != 0 {
			t.Errorf("Filter of %d parts looked at %d lines, next %d; want none, and next 5", len(parts), got.Lines, got.Next)
		}
	}
}
