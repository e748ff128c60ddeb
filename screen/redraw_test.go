package screen_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"ptyctl/screen"
	"ptyctl/screen/screentest"
)

// looks is all that a reader sees of a snapshot.
func looks(s *screen.Snapshot) string {
	var b strings.Builder
	b.WriteString(screentest.Looks(s))
	fmt.Fprintf(&b, "%+v dir %q prompt %v\n", s.Modes, s.Dir, s.Prompt)
	for y := range s.Rows {
		fmt.Fprintf(&b, "row %d wrapped %v mark %v\n", y, s.Wrapped(y), s.Mark(y))
	}
	return b.String()
}

// wantSame compares two screens.
func wantSame(tb testing.TB, when string, got, want *screen.Screen) {
	tb.Helper()
	a, b := looks(got.Snapshot()), looks(want.Snapshot())
	if a == b {
		return
	}
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range bs {
		if i >= len(as) || as[i] != bs[i] {
			tb.Fatalf("%s: line %d is\n%s\nwant\n%s", when, i, as[min(i, len(as)-1)], bs[i])
		}
	}
}

// TestRedraw: a terminal that a redraw was sent to looks like the screen, and draws all that follows alike,
// whatever it had shown before.
func TestRedraw(t *testing.T) {
	all := recordings(t)
	for i, r := range all {
		t.Run(r.name, func(t *testing.T) {
			other := all[(i+2)%len(all)] // of the same size
			rng := rand.New(rand.NewPCG(uint64(i), 1))
			for range 3 {
				at := rng.IntN(len(r.raw) + 1)
				s, late := screen.New(r.cols, r.rows), screen.New(r.cols, r.rows)
				_, _ = late.Write(other.raw[:rng.IntN(len(other.raw)+1)])
				_, _ = late.Write([]byte{0x18}) // the end of a sequence that was cut
				_, _ = s.Write(r.raw[:at])
				for s.Partial() && at < len(r.raw) {
					_, _ = s.Write(r.raw[at : at+1])
					at++
				}
				if s.Drawing() {
					continue
				}
				_, _ = late.Write(s.Redraw(nil))
				wantSame(t, fmt.Sprintf("after %d bytes", at), late, s)
				again := screen.New(r.cols, r.rows)
				_, _ = again.Write(late.Redraw(nil))
				wantSame(t, "redrawn from what was redrawn", again, s)
				for _, to := range []*screen.Screen{s, late} {
					_, _ = to.Write(r.raw[at:])
				}
				wantSame(t, fmt.Sprintf("at the end, redrawn after %d bytes", at), late, s)
			}
		})
	}
}

// TestRedrawState: a redraw also restores invisible state.
func TestRedrawState(t *testing.T) {
	const cols, rows = 20, 6
	long := strings.Repeat("0123456789", 5)
	for _, tc := range []struct{ name, before, after string }{
		{"wrap is pending", "01234567890123456789", "x"},
		{"wrap is pending, wide", "012345678901234567日", "x"},
		{"a line that wraps, and a resize", long, "\x1b[Hx"},
		{"a wide character that did not fit", "0123456789012345678日本", "x"},
		{"margins", "\x1b[2;4ra\r\nb\r\nc\r\nd\r\ne", "\r\nf\r\ng"},
		{"side margins", "\x1b[?69h\x1b[3;9s\x1b[2;3Hhello world, and more", "\r\nx"},
		{"origin mode", "\x1b[2;4r\x1b[?6h\x1b[2;3Hx", "\x1b[1;1Hy\x1b[99;99Hz"},
		{"saved cursor", "\x1b[3;4H\x1b[31m\x1b7\x1b[H\x1b[m", "\x1b8x"},
		{"saved cursor of the main screen", "a\x1b[3;4H\x1b[31m\x1b[?1049h\x1b[Hfull\x1b[2;2H\x1b7\x1b[H", "\x1b8y\x1b[?1049lx"},
		{"line drawing", "\x1b(0\x1b)0lqk\x0eq", "x\x0fx\x1b(Bx"},
		{"single shift", "\x1b*0\x1bN", "q q"},
		{"tab stops", "\x1b[3g\x1b[1;4H\x1bH\r", "\tx\ty"},
		{"insert mode", "abc\x1b[4h\r", "x"},
		{"no wrap", "\x1b[?7l", long},
		{"new line mode", "\x1b[20hab", "\nc"},
		{"colours", "\x1b[38;2;1;2;3;48;5;200;1;4:3;58:2::9:8:7mx", "y\x1b[mz"},
		{"coloured blanks", "\x1b[44m\x1b[2J\x1b[3;3Hx", "\x1b[K"},
		{"links", "\x1b]8;;https://example.org/\x1b\\li", "nk\x1b]8;;\x1b\\ no"},
		{"protected", "\x1b[1\"qkeep\x1b[0\"q lose", "\x1b[?2J"},
		{"marks", "\x1b]133;A\x1b\\$ \x1b]133;B\x1b\\ls\r\n\x1b]133;C\x1b\\out\r\n", "\x1b]133;D\x1b\\"},
		{"title and folder", "\x1b]2;a title\x1b\\\x1b]7;file:///tmp\x1b\\", ""},
		{"combining", "e\u0301a\u0308", "\u0301"},
		{"clusters", "\x1b[?2027h👩‍👩‍👧 x", "\u0301"},
		{"modes", "\x1b[?1;5;25l\x1b[?1;5;1002;1006;2004h\x1b=\x1b[4 q", "x"},
		{"wraps onto a blank row", long[:20] + "x\x1b[D\x1b[X", "y"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, late := screen.New(cols, rows), screen.New(cols, rows)
			_, _ = late.Write([]byte("\x1b[?1049h\x1b[2;3r\x1b[?6;5h\x1b[4h\x1b(0\x1b[31mother\x1b]2;other\x1b\\"))
			_, _ = s.Write([]byte(tc.before))
			_, _ = late.Write(s.Redraw(nil))
			wantSame(t, "redrawn", late, s)
			for _, to := range []*screen.Screen{s, late} {
				_, _ = to.Write([]byte(tc.after))
			}
			wantSame(t, "after more output", late, s)
			for _, to := range []*screen.Screen{s, late} {
				to.Resize(cols-7, rows)
			}
			if tc.name == "a line that wraps, and a resize" {
				wantSame(t, "in another size", late, s)
			}
		})
	}
}

func BenchmarkRedraw(b *testing.B) {
	s := screen.New(120, 40)
	_, _ = s.Write([]byte(strings.Repeat("\x1b[32mok\x1b[m  a line of text that is not short\r\n", 100)))
	var out []byte
	for b.Loop() {
		out = s.Redraw(out[:0])
	}
	b.ReportMetric(float64(len(out)), "bytes")
}
