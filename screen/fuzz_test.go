package screen_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"ptyctl/screen"
)

// check reports what no screen may be, whatever was written to it.
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

// FuzzReaders changes the size and reads the screen between pieces of the output. Each three
// bytes of plan are the length of a piece and what comes after it.
func FuzzReaders(f *testing.F) {
	for _, r := range recordings(f) {
		if r.cols == 80 {
			f.Add(r.raw[:min(len(r.raw), 1500)], []byte{200, 0, 0, 90, 1, 40, 255, 2, 200, 255, 3, 9, 255, 4, 77, 255, 5, 90, 60, 6, 1})
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
