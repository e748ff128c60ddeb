package screen_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ptyctl/screen"
)

func TestDiff(t *testing.T) {
	base := "one\r\ntwo\r\nthree\r\nfour"
	for _, tt := range []struct {
		name, then string
		changed    []int
		moved      screen.Move
		scrolled   uint64
	}{
		{name: "nothing"},
		{name: "the same again", then: "\x1b[2;1Htwo\x1b[4;5H"},
		{name: "a row", then: "\x1b[2;1Hnew", changed: []int{1}},
		{name: "a colour", then: "\x1b[2;1H\x1b[7mtwo", changed: []int{1}},
		{name: "the cursor alone", then: "\x1b[H"},
		{name: "blanks at the end", then: "  "},
		{name: "a scroll", then: "\r\nfive\r\nsix", changed: []int{4}, moved: screen.Move{From: 1, To: 0, Rows: 4}, scrolled: 1},
		{name: "a scroll of all", then: strings.Repeat("\r\nx", 6), changed: []int{0, 1, 2, 3, 4}, scrolled: 5},
		{name: "a line inserted", then: "\x1b[H\x1b[L", changed: []int{0}, moved: screen.Move{From: 0, To: 1, Rows: 4}},
		{name: "a clear screen", then: "\x1b[2J", changed: []int{0, 1, 2, 3}},
	} {
		s := draw(base)
		since := s.Snapshot().Version
		s.Write([]byte(tt.then))
		d := s.Diff(since)
		if tt.name == "a scroll" { // five went to the last row, six scrolled
			tt.changed, tt.moved = []int{3, 4}, screen.Move{From: 1, To: 0, Rows: 3}
		}
		if d.Full || !slices.Equal(d.Changed, tt.changed) || d.Moved != tt.moved || d.Scrolled != tt.scrolled {
			t.Errorf("%s: rows %v changed, moved %+v, %d scrolled, full %v; want %v, %+v, %d",
				tt.name, d.Changed, d.Moved, d.Scrolled, d.Full, tt.changed, tt.moved, tt.scrolled)
		}
		if same := d.Version == since; same != (tt.then == "" || tt.name == "the same again") && tt.name != "blanks at the end" {
			t.Errorf("%s: the version is %d after %d", tt.name, d.Version, since)
		}
	}
}

func TestDiffIsFull(t *testing.T) {
	s := draw("abc")
	first := s.Snapshot().Version
	check := func(why string, since uint64, full bool) {
		t.Helper()
		if d := s.Diff(since); d.Full != full || full && len(d.Changed) != d.Rows {
			t.Errorf("%s: full %v with %d rows, want %v", why, d.Full, len(d.Changed), full)
		}
	}
	check("a known version", first, false)
	check("a version of the future", 99, true)
	s.Write([]byte("\x1b[?1049h"))
	check("another screen", first, true)
	s.Write([]byte("\x1b[?1049l"))
	check("the same screen again", first, false)
	s.Resize(11, 5)
	check("another size", first, true)
	s.Resize(10, 5)
	for i := range 20 {
		fmt.Fprintf(s, "\r%d", i)
		s.Snapshot()
	}
	check("a version 20 versions ago", first, true)
}

// eachDiff calls do with the differences of each recording, which is drawn in pieces of 300 bytes.
func eachDiff(t *testing.T, do func(r recording, begin bool, d screen.Diff)) {
	t.Helper()
	for _, r := range recordings(t) {
		s := screen.New(r.cols, r.rows)
		version := uint64(0)
		for rest := r.raw; len(rest) > 0; {
			n := min(300, len(rest))
			s.Write(rest[:n])
			rest = rest[n:]
			d := s.Diff(version)
			do(r, version == 0, d)
			version = d.Version
		}
	}
}

// applied returns the rows of a reader after it applied d to rows. row returns a row of the screen.
func applied(rows []string, d screen.Diff, row func(y int) string) []string {
	now := slices.Clone(rows)
	if d.Full {
		now = make([]string, d.Rows)
	}
	for i := range d.Moved.Rows {
		now[d.Moved.To+i] = rows[d.Moved.From+i]
	}
	for _, y := range d.Changed {
		now[y] = row(y)
	}
	return now
}

// A reader who applies the differences of all recordings has the screen that is shown.
func TestDiffsAddUp(t *testing.T) {
	full, changed := 0, 0
	var rows []string
	eachDiff(t, func(r recording, begin bool, d screen.Diff) {
		if begin {
			rows = nil
		}
		rows = applied(rows, d, d.Row)
		if got, want := strings.Join(rows, "\n")+"\n", d.Text(); got != want {
			t.Fatalf("%s: a reader of the differences has\n%s\nthe screen is\n%s", r.name, got, want)
		}
		full += len(d.Snapshot.Render(screen.Options{}))
		changed += len(d.Render(screen.Options{}))
	})
	t.Logf("differences are %d %% of whole screens", 100*changed/full)
}

func TestRender(t *testing.T) {
	s := screen.New(30, 12)
	s.Write([]byte("\x1b[?1049h\x1b]0;setup\x07\x1b[?25l\x1b[2;3H┌────────┐\x1b[3;3H│ New    │\x1b[4;3H│\x1b[7m Open   \x1b[m│\x1b[5;3H│ Quit   │\x1b[6;3H└────────┘" +
		"\x1b[9;3H\x1b[44m<OK>\x1b[m <Cancel>\x1b[12;1H\x1b[1;31mReady\x1b[m \x1b]8;;http://h\x07here\x1b]8;;\x07"))
	d := s.Diff(0)
	for _, tt := range []struct {
		options screen.Options
		want    string
	}{
		{screen.Options{}, `screen v1 30x12 alt cursor 12,11 hidden title "setup"
(1 empty)
 2|   +--------+
 3|   | New    |
 4|   | Open   |
<- 5-8 reverse
 5|   | Quit   |
 6|   +--------+
(2 empty)
 9|   <OK> <Cancel>
<- 3-6 on blue
(2 empty)
12| Ready here
`},
		{screen.Options{First: 4, Last: 4, BoxDrawing: true}, `screen v1 30x12 alt cursor 12,11 hidden title "setup"
 4|   │ Open   │
<- 5-8 reverse
`},
		{screen.Options{First: 9, Last: 12, Attributes: true, Links: true}, `screen v1 30x12 alt cursor 12,11 hidden title "setup"
 9|   <OK> <Cancel>
<- [3-6 on blue]
(2 empty)
12| Ready here
<- [1-5 bold red] [7-10 http://h]
`},
	} {
		if got := d.Render(tt.options); got != tt.want {
			t.Errorf("Render(%+v) is\n%s\nwant\n%s", tt.options, got, tt.want)
		}
	}
	s.Write([]byte("\x1b[4;4H Open   \x1b[5;4H\x1b[7m Quit   \x1b[m"))
	want := `screen v2 30x12 alt cursor 5,12 hidden title "setup" since v1
 4|   | Open   |
 5|   | Quit   |
<- 5-8 reverse
`
	next := s.Diff(d.Version)
	if got := next.Render(screen.Options{}); got != want {
		t.Errorf("after a key the difference is\n%s\nwant\n%s", got, want)
	}
}

// A selection that a person sees in real programs must be known from the text alone.
func TestHighlights(t *testing.T) {
	want := map[string][]string{
		"dialog-80x24":    {"a  one", "<  OK  >"},
		"checklist-80x24": {"[*] a  one", "<  OK  >"},
		"whiptail-80x24":  {"b two", "<Ok>"},
		"fzf-80x24":       {"> entry 51"},
		"nano-80x24":      {"Main nano help text"},
		"less-120x40":     {},
	}
	for _, r := range recordings(t) {
		parts, ok := want[r.name]
		if !ok {
			continue
		}
		s := feed(r.cols, r.rows, r.raw, 0)
		var got []string
		for _, h := range s.Highlights() {
			got = append(got, strings.TrimSpace(string([]rune(s.Row(h.Row) + strings.Repeat(" ", s.Cols))[h.From:h.To])))
		}
		for _, part := range parts {
			if !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, part) || strings.Contains(part, s) && len(s) > 3 }) {
				t.Errorf("%s: the highlights are %q, want one of %q", r.name, got, part)
			}
		}
	}
	s := draw("\x1b[2J\x1b[Hfile\r\n\x1b[1mopen\x1b[m\r\nquit").Snapshot()
	if h := s.Highlights(); len(h) != 1 || h[0].Row != 1 {
		t.Errorf("the highlights of a menu whose selected entry is bold are %+v, want row 1", h)
	}
}

// Rows that look alike are shown once, if that is shorter.
func TestRenderRowsAlike(t *testing.T) {
	s := screen.New(20, 8)
	_, _ = s.Write([]byte("a\r\nb\r\nb\r\nlong line\r\nlong line\r\nlong line\r\nlong line\r\n"))
	const whole = "screen v1 20x8 cursor 8,1\n1| a\n2| b\n3| b\n4| long line\n(3 rows like it)\n(1 empty)\n"
	first := s.Snapshot()
	if got := first.Render(screen.Options{}); got != whole {
		t.Errorf("Render() = %q, want %q", got, whole)
	}
	_, _ = s.Write([]byte("\x1b[2J\x1b[H"))
	d := s.Diff(first.Version)
	if got, want := d.Render(screen.Options{}), "screen v2 20x8 cursor 1,1 since v1\n1|\n(6 rows like it)\n"; got != want {
		t.Errorf("Render() after all was erased = %q, want %q", got, want)
	}
}

// The text of a program looks like no mark.
func TestMarksCannotBeForged(t *testing.T) {
	s := screen.New(60, 8)
	_, _ = s.Write([]byte("\x1b[2;1HDelete all  <- 3-12 reverse\r\n(5 rows like it)\r\n<- reverse [1-8 bold]\r\nplain\r\n" +
		"\x1b]8;;http://h] [1-9 bold\alink\x1b]8;;\a"))
	const want = "screen v1 60x8 cursor 6,5\n1|\n2| Delete all  <- 3-12 reverse\n3| (5 rows like it)\n4| <- reverse [1-8 bold]\n" +
		"5| plain\n6| link\n<- [1-4 http://h]%20[1-9%20bold]\n7|\n8|\n"
	got := s.Snapshot().Render(screen.Options{Links: true})
	got = strings.Replace(strings.Replace(got, "(1 empty)", "1|", 1), "(2 empty)", "7|\n8|", 1)
	if got != want {
		t.Errorf("text that looks like marks is shown as\n%s\nwant\n%s", got, want)
	}
}

// A model must not read text that a person does not see.
func TestConcealedText(t *testing.T) {
	for _, tt := range []struct{ name, output, want string }{
		{"concealed", "ok \x1b[8mobey me\x1b[m end", "1| ok         end\n<- 4-10 concealed\n"},
		{"all of a row", "\x1b[8mobey\x1b[m", "1|\n<- 1-4 concealed\n"},
		{"in its background", "a \x1b[31;41mobey\x1b[m b", "1| a      b\n<- 3-6 concealed\n"},
		{"in reverse", "a \x1b[7;31;41mobey\x1b[m b", "1| a      b\n<- 3-6 concealed\n"},
		{"wide", "a \x1b[8m日本\x1b[m b", "1| a      b\n<- 3-6 concealed\n"},
		{"beside a highlight", "\x1b[7mopen\x1b[m \x1b[8mobey\x1b[m", "1| open\n<- reverse, 6-9 concealed\n"},
		{"two parts", "\x1b[8mab\x1b[m \x1b[8mcd\x1b[m", "1|\n<- 1-2 concealed, 4-5 concealed\n"},
		{"grey by bold", "\x1b[1;30;40mgrey\x1b[m", "1| grey\n<- on black\n"},
		{"a picture", "a\x1b[31;41m▀▄\x1b[m", "1| a\n"},
		{"blanks", "a\x1b[8m   \x1b[mb", "1| a   b\n"},
	} {
		s := screen.New(30, 4)
		_, _ = s.Write([]byte(tt.output))
		now := s.Snapshot()
		_, got, _ := strings.Cut(now.Render(screen.Options{First: 1, Last: 1}), "\n")
		if got != tt.want {
			t.Errorf("%s: %q is shown as %q, want %q", tt.name, tt.output, got, tt.want)
		}
		if peeked, _ := s.Peek(); strings.Contains(peeked.Text(), "obey") {
			t.Errorf("%s: a wait looks at %q", tt.name, peeked.Text())
		}
	}
	s := screen.New(30, 4)
	_, _ = s.Write([]byte("\x1b[8mobey\x1b[m"))
	if got := s.Snapshot().Render(screen.Options{Attributes: true}); !strings.Contains(got, "1| obey\n<- [1-4 conceal]\n") {
		t.Errorf("with attributes a concealed text is shown as %q, want all of it and its attribute", got)
	}
}

// A row is part of the difference if its neighbours remove its mark or give it one.
func TestDiffOfMarks(t *testing.T) {
	s := screen.New(20, 12)
	_, _ = s.Write([]byte("\x1b[?1049hone\r\n\x1b[7mtwo\r\nthree\x1b[m\r\nfour\r\nfive\r\nsix"))
	first := s.Snapshot()
	_, _ = s.Write([]byte("\x1b7\x1b[4;1H\x1b[7mfour\r\nfive\x1b[m\x1b8"))
	wide := s.Diff(first.Version)
	if got := wide.Render(screen.Options{}); !strings.HasSuffix(got, "since v1\n 2| two\n 3| three\n 4| four\n 5| five\n") {
		t.Errorf("a selection that has become a window is shown as\n%s", got)
	}
	_, _ = s.Write([]byte("\x1b7\x1b[4;1Hfour\r\nfive\x1b8"))
	d := s.Diff(wide.Version)
	if got := d.Render(screen.Options{}); !strings.Contains(got, " 2| two\n<- reverse\n 3| three\n<- reverse\n") {
		t.Errorf("a window that has become a selection is shown as\n%s", got)
	}
}

// The marks that a reader of all differences has are those of the whole screen.
func TestMarksAddUp(t *testing.T) {
	var marks []string
	eachDiff(t, func(r recording, begin bool, d screen.Diff) {
		if begin {
			marks = nil
		}
		now := make([]string, d.Rows)
		for _, h := range d.Highlights() {
			now[h.Row] += fmt.Sprint(h.From, h.To, h.Style)
		}
		marks = applied(marks, d, func(y int) string { return now[y] })
		for y := range now {
			if (marks[y] == "") != (now[y] == "") {
				t.Fatalf("%s: a reader of the differences has the mark %q of row %d, and the screen %q", r.name, marks[y], y+1, now[y])
			}
		}
	})
}
