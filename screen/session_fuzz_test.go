package screen_test

import (
	"slices"
	"testing"

	"ptyctl/screen"
)

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
