package screen_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"ptyctl/screen"
)

// check reports states that no screen may have, whatever was written to it.
func check(t *testing.T, s *screen.Screen) {
	t.Helper()
	snap := s.Snapshot()
	cols, rows := s.Size()
	if c := snap.Cursor; c.Row < 0 || c.Row >= rows || c.Col < 0 || c.Col >= cols || snap.Cols != cols || snap.Rows != rows {
		t.Errorf("the cursor of a snapshot of %dx%d is at %d,%d; the size is %dx%d", snap.Cols, snap.Rows, c.Row, c.Col, cols, rows)
	}
	checkLines(t, &snap.Lines)
	back := s.Scrollback()
	if back.Rows > 200 {
		t.Errorf("the scrollback has %d rows, want at most 200", back.Rows)
	}
	for y := range back.Rows {
		if text := back.Row(y); !utf8.ValidString(text) {
			t.Errorf("row %d of the scrollback is not UTF-8: %q", y, text)
		}
	}
	if text := snap.Render(screen.Options{Attributes: true, Links: true}); !utf8.ValidString(text) || strings.ContainsRune(text, 0x1b) {
		t.Errorf("the text of the screen is not UTF-8, or has an ESC: %q", text)
	}
}

func checkLines(t *testing.T, l *screen.Lines) {
	t.Helper()
	for y := range l.Rows {
		for x := range l.Cols {
			c := l.Cell(y, x)
			switch next := l.Cell(y, x+1); {
			case c.Width == 2 && (x == l.Cols-1 || next.Width != 0):
				t.Errorf("%d,%d has the first half of a wide character without the second", y, x)
			case c.Width == 0 && (x == 0 || l.Cell(y, x-1).Width != 2):
				t.Errorf("%d,%d has the second half of a wide character without the first", y, x)
			case c.Width != 0 && (c.Rune < ' ' || !utf8.ValidRune(c.Rune)):
				t.Errorf("%d,%d has the character %#x", y, x, c.Rune)
			case len(c.Cluster) > 64:
				t.Errorf("%d,%d has a cluster of %d bytes", y, x, len(c.Cluster))
			}
		}
	}
}

func FuzzScreen(f *testing.F) {
	for _, r := range recordings(f) {
		if r.cols == 80 {
			f.Add(r.raw[:min(len(r.raw), 2000)], uint8(r.cols), uint8(r.rows), uint16(100))
		}
	}
	for _, s := range []string{
		"漢字\x1b[2G\x1b[P\x1b[@\x1b[X", "\x1b[?69h\x1b[2;5s\x1b[2;3r漢字漢字\n\n\x1b[S\x1b[T\x1b['}\x1b[ @",
		"\x1b[?2027h👩\u200d💻❤\ufe0f\u0301\x1b[?2026h", "\x1b[?1049h\x1b[4h漢\x1b[9b\x1b7\x1b[?6h\x1b8\x1b#8", "\x1b]8;;x\x07a\x1b[58;5;1mb\n\n\n\n\n\n",
	} {
		f.Add([]byte(s), uint8(5), uint8(3), uint16(4))
	}
	f.Fuzz(func(t *testing.T, in []byte, cols, rows uint8, cut uint16) {
		w, h := int(cols)%100+1, int(rows)%50+1
		at := int(cut) % (len(in) + 1)
		whole, two, bytewise := screen.New(w, h), screen.New(w, h), screen.New(w, h)
		whole.Write(in)
		two.Write(in[:at])
		two.Diff(1) // a look changes nothing
		two.Write(in[at:])
		for i := range in {
			bytewise.Write(in[i : i+1])
		}
		check(t, whole)
		want, answers := state(whole.Snapshot()), string(whole.Replies())
		if got := state(two.Snapshot()); got != want || string(two.Replies()) != answers {
			t.Errorf("%q cut at %d draws another screen", in, at)
		}
		if got := state(bytewise.Snapshot()); got != want || string(bytewise.Replies()) != answers {
			t.Errorf("%q byte by byte draws another screen", in)
		}
		// A change of the size at any time, and back.
		s := screen.New(w, h)
		s.Write(in[:at])
		before := s.Snapshot().Version
		s.Resize(int(cut)%120+1, int(cut>>8)%60+1)
		check(t, s)
		s.Write(in[at:])
		check(t, s)
		s.Resize(w, h)
		check(t, s)
		s.Diff(before)
	})
}

// A reader keeps the rows that the differences it was sent add up to.
type reader struct {
	version uint64
	rows    []string
}

// read brings the rows up to date with s, and reports whether they are those of the screen.
func (r *reader) read(t *testing.T, s *screen.Screen) {
	t.Helper()
	d := s.Diff(r.version)
	old := slices.Clone(r.rows)
	if d.Full {
		r.rows = make([]string, d.Rows)
	}
	for i := range d.Moved.Rows {
		r.rows[d.Moved.To+i] = old[d.Moved.From+i]
	}
	for _, y := range d.Changed {
		r.rows[y] = d.Row(y)
	}
	r.version = d.Version
	for y, row := range r.rows {
		if want := d.Row(y); row != want {
			t.Errorf("row %d of the differences (full %v, since %d, moved %+v, changed %v) is %q, the screen has %q",
				y, d.Full, d.Since, d.Moved, d.Changed, row, want)
		}
	}
	d.Render(screen.Options{})
}

// FuzzReaders changes the size and reads the screen between pieces of the output. Each three bytes of plan are the
// length of a piece and the action after it.
func FuzzReaders(f *testing.F) {
	for _, r := range recordings(f) {
		if r.cols == 80 {
			plan := []byte{200, 0, 0, 90, 1, 40, 255, 2, 200, 255, 3, 9, 255, 4, 77, 255, 5, 90, 60, 6, 1}
			f.Add(r.raw[:min(len(r.raw), 1500)], plan)
		}
	}
	f.Add([]byte("\x1b[?1049h\x1b[?2026h漢字\x1b[2;3r\n\n\n\x1b[?69h\x1b[2;4s漢\x1b[?1049l\x1b[9b"), []byte{3, 3, 3, 9, 4, 2, 7, 1, 0})
	f.Fuzz(func(t *testing.T, in, plan []byte) {
		s, bytewise := screen.New(20, 6), screen.New(20, 6)
		var often, seldom reader
		for i := 0; len(in) > 0; i += 3 {
			n, op, size := len(in), byte(0), byte(0)
			if i+2 < len(plan) {
				n, op, size = min(n, int(plan[i])), plan[i+1], plan[i+2]
			}
			s.Write(in[:n])
			for j := range n {
				bytewise.Write(in[j : j+1])
			}
			in = in[n:]
			if op&1 != 0 {
				cols, rows := int(size)%90+1, int(size)/5+1
				s.Resize(cols, rows)
				bytewise.Resize(cols, rows)
			}
			if op&2 != 0 {
				often.read(t, s)
			}
			if op&4 != 0 {
				check(t, s)
			}
		}
		check(t, s)
		often.read(t, s)
		seldom.read(t, s)
		if got, want := state(bytewise.Snapshot()), state(s.Snapshot()); got != want {
			t.Errorf("byte by byte, with the same sizes at the same places, there is another screen:\n%q\nwant\n%q", got, want)
		}
		if got, want := string(bytewise.Replies()), string(s.Replies()); got != want {
			t.Errorf("byte by byte the answers are %q, want %q", got, want)
		}
	})
}

// A generator makes output that uses everything a terminal knows, and much that it does not.
type generator struct{ *rand.Rand }

func (g generator) pick(s ...string) string { return s[g.IntN(len(s))] }

// number is a parameter: often left out or small, sometimes absurd.
func (g generator) number() string {
	switch g.IntN(8) {
	case 0, 1:
		return ""
	case 2:
		return "0"
	case 3:
		return g.pick("999", "65535", "65536", "99999999999")
	}
	return fmt.Sprint(1 + g.IntN(30))
}

func (g generator) numbers(most int) string {
	all := make([]string, g.IntN(most+1))
	for i := range all {
		all[i] = g.number()
	}
	return strings.Join(all, ";")
}

// piece is a text or a sequence.
func (g generator) piece() string {
	switch g.IntN(22) {
	case 0, 1, 2:
		return strings.Repeat(string(rune('a'+g.IntN(26))), 1+g.IntN(25))
	case 3:
		return g.pick("漢字", "한글", "ä", "─│", "e\u0301\u0302", "\u0301", "👩\u200d💻", "🇩🇪", "❤\ufe0f", "👍🏽", "\u200b", "\u00ad", "ﷺ", "\U0010fffd")
	case 4:
		return g.pick("\xff", "\xc3", "\xe6\xbc", "\xf0\x9f\x91", "\xed\xa0\x80", "\xc0\xaf", "\u0085", "\u008d", "\u009b1m", "\x80", "\x9b")
	case 5, 6:
		return g.pick("\r\n", "\n", "\r", "\b", "\b\b\b", "\t", "\v", "\f", "\x0e", "\x0f", "\a", "\x00", "\x7f", "\x18", "\x1a", "\x05")
	case 7, 8:
		return fmt.Sprintf("\x1b[%d;%dH", 1+g.IntN(14), 1+g.IntN(34))
	case 9, 10, 11:
		return "\x1b[" + g.numbers(2) + g.pick(strings.Split("@ABCDEFGHIJKLMPSTXZ^`abdefgijnrstu", "")...)
	case 12:
		return "\x1b[" + g.pick("", "?", ">", "<", "=") + g.numbers(3) + g.pick("", " ", "!", "\"", "#", "$", "'", "*", "!!") +
			string(rune('@'+g.IntN(63)))
	case 13, 14:
		mode := g.pick("1", "3", "5", "6", "7", "9", "12", "25", "40", "45", "47", "66", "69", "1000", "1002", "1003", "1004", "1005", "1006",
			"1015", "1016", "1045", "1047", "1048", "1049", "2004", "2026", "2027", "2031", "2048", "7;6", "1049;2026")
		return "\x1b[?" + mode + g.pick("h", "l", "h", "l", "s", "r", "$p")
	case 15:
		return "\x1b[" + g.pick("4", "20", "2", "12", "3") + g.pick("h", "l", "$p")
	case 16:
		return "\x1b[" + g.pick("", "0", "1", "7", "4:3", "38;5;200", "48;2;1;2;3", "38:2::9:8:7", "58;5;1", "22;27", "39;49", "1;31;44", "53", "38;5",
			"38:2", "107") + "m"
	case 17:
		return "\x1b" + g.pick(strings.Split("6789DEHMNOZc=>no(0|(B|)0|(A|*0|+0|#3|#4|#5|#6|#8|%G| F", "")...) + g.pick("", "0", "B")
	case 18:
		return "\x1b]" + g.pick("0;title", "2;漢字", "7;file:///tmp", "8;;http://h/x", "8;;", "8;id=1;x", "10;?", "11;?", "52;c;?", "133;A", "133;B",
			"133;C", "133;D;0", "4;1;?", "9999;x", "") + g.pick("\a", "\x1b\\", "\x18", "\x1b")
	case 19:
		return "\x1b" + g.pick("P", "X", "^", "_") + g.pick("$qm", "$qr", "$q q", "+q544e", "1;2|x", "\xff漢") + g.pick("\x1b\\", "\x18", "\x1b")
	case 20:
		return g.pick("\x1b[?69h\x1b[3;9s", "\x1b[2;4r", "\x1b[r", "\x1b[s", "\x1b[!p", "\x1b[?1049h", "\x1b[?1049l", "\x1b7", "\x1b8", "\x1b[22t", "\x1b[23t",
			"\x1b[3J", "\x1b[2J", "\x1b[1\"q", "\x1b[0\"q", "\x1b[?J", "\x1b[?1K", "\x1b[2 @", "\x1b[ A", "\x1b[2'}", "\x1b['~", "\x1b[5b")
	}
	return g.pick("\x1b", "\x1b[", "\x1b[1", "\x1b[1;", "\x1b]", "\x1b]0;x", "\x1bP", "\x1b#", "\x1b(")
}

// TestRandomStreams draws random output with changes of the size between, whole, cut in two, in small pieces and byte by
// byte: the screen, the scrollback and the answers are the same, also where a reader looks between. PTYCTL_LONG draws more.
func TestRandomStreams(t *testing.T) { synctest.Test(t, randomStreams) }

// randomStreams runs with a stopped clock, because a frame (DECSET 2026) ends after a second.
func randomStreams(t *testing.T) {
	streams := 300
	if os.Getenv("PTYCTL_LONG") != "" {
		streams = 20_000
	}
	for seed := range streams {
		g := generator{rand.New(rand.NewPCG(uint64(seed), 20))}
		// The output between two changes of the size.
		var parts [][]byte
		var sizes [][2]int
		for range 1 + g.IntN(4) {
			var part []byte
			for range g.IntN(60) {
				part = append(part, g.piece()...)
			}
			// The change of the size may come within a sequence.
			parts = append(parts, part[:g.IntN(len(part)+1)], part[len(part)-g.IntN(len(part)+1):])
			sizes = append(sizes, [2]int{1 + g.IntN(40), 1 + g.IntN(14)}, [2]int{30, 10})
		}
		draw := func(most int, look bool) (string, string) {
			s := screen.New(30, 10)
			var answers []byte
			version := uint64(0)
			cut := rand.New(rand.NewPCG(uint64(seed), uint64(most)))
			for i, part := range parts {
				for len(part) > 0 {
					n := min(len(part), 1+cut.IntN(most))
					s.Write(part[:n])
					part = part[n:]
					if look {
						version = s.Diff(version).Version
						answers = append(answers, s.Replies()...)
					}
				}
				s.Resize(sizes[i][0], sizes[i][1])
				answers = append(answers, s.Replies()...)
			}
			if most == 1 {
				check(t, s)
			}
			return state(s.Snapshot()) + s.Scrollback().Text(), string(answers)
		}
		want, answers := draw(1<<20, false)
		for _, most := range []int{1, 2, 5, 40} {
			got, replies := draw(most, most == 5)
			if got != want {
				t.Errorf("stream %d in pieces of at most %d bytes draws another screen: %q, sizes %v\n%q\nwant\n%q",
					seed, most, parts, sizes, got, want)
			}
			if replies != answers && len(answers) < 1000 { // a reader who asks seldom may lose some
				t.Errorf("stream %d in pieces of at most %d bytes is answered by %q, want %q",
					seed, most, replies, answers)
			}
		}
		if t.Failed() {
			return
		}
	}
}
