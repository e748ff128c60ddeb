package screen_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"ptyctl/screen"
)

// Output that is skipped leaves the same screen as output that is drawn.
func TestSkip(t *testing.T) {
	parts := []string{
		"word ", "a somewhat longer piece of text ", "\t", "\r", "\n", "\r\n", "\r\n", "\r\n", "\x1b[31m", "\x1b[m", "\x1b[0m", "\x1b[1;44m",
		"\x1b[38;5;200m", "\x1b[K", "漢字", "é", "\u00a0\u00e2", "e\u0301", "─│", "\x1b[4:3m\x1b[58:5:1m",
	}
	skipped := 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 0))
		cols, rows := 1+r.IntN(30), 1+r.IntN(6)
		var before, text bytes.Buffer
		for range r.IntN(10) {
			before.WriteString(parts[r.IntN(len(parts))])
		}
		if r.IntN(4) == 0 {
			before.WriteString("\x1b[?1049h")
		}
		kinds := 1 + r.IntN(len(parts)) // some have lines alone
		for range r.IntN(300) {
			text.WriteString(parts[(r.IntN(kinds)+int(seed))%len(parts)])
		}
		drawn, other := screen.New(cols, rows), screen.New(cols, rows)
		for _, s := range []*screen.Screen{drawn, other} {
			s.Write(before.Bytes())
		}
		drawn.Write(text.Bytes())
		n := other.Skip(text.Bytes())
		if n > 0 {
			skipped++
		}
		other.Write(text.Bytes()[n:])
		for range 2 {
			a, b := drawn.Snapshot(), other.Snapshot()
			o := screen.Options{Attributes: true, Links: true, BoxDrawing: true}
			if x, y := a.Render(o), b.Render(o); x != y || a.Cursor != b.Cursor || a.ScrolledUp != b.ScrolledUp {
				t.Fatalf("seed %d, %dx%d: %q after %q, of which %d bytes were skipped, shows\n%s(%d rows scrolled), drawn\n%s(%d rows)",
					seed, cols, rows, text.Bytes(), before.Bytes(), n, y, b.ScrolledUp, x, a.ScrolledUp)
			}
			for i := range a.Rows { // also where lines wrap
				if a.Wrapped(i) != b.Wrapped(i) {
					t.Fatalf("seed %d: row %d wraps: %v, drawn %v", seed, i, b.Wrapped(i), a.Wrapped(i))
				}
			}
			for _, s := range []*screen.Screen{drawn, other} { // and later output looks the same
				s.Write([]byte("x\x1b[?1049lx\r\ny\x1b[2Jz"))
			}
		}
		x, y := lines(drawn.Scrollback()), lines(other.Scrollback())
		if len(y) > len(x) || strings.Join(x[len(x)-len(y):], "\n") != strings.Join(y, "\n") {
			t.Fatalf("seed %d: the scrollback is %q, drawn %q", seed, y, x)
		}
	}
	if skipped < 500 {
		t.Errorf("something was skipped in %d of 3000 cases, want more", skipped)
	}
}

func lines(l *screen.Lines) (rows []string) {
	for y := range l.Rows {
		rows = append(rows, l.Row(y))
	}
	return rows
}

// Output that is no text must be drawn.
func TestNothingToSkip(t *testing.T) {
	log := strings.Repeat("line\r\n", 100)
	for _, tt := range []struct{ before, text string }{
		{"", strings.Repeat("line\r\n", 10)},
		{"", log + "\x1b[2J" + log[:60]},
		{"", "\x1b[?1049h" + log},
		{"", "\x1b]0;title\a" + log},
		{"", log[:60] + "\x1b[5;1H" + log},
		{"", "\x1b[5n" + log},
		{"", "\u0085\r\n" + log},
		{"", "\xff\r\n" + log},
		{"", "x\u0085\n" + log},
		{"\x1b[2;4r", log},
		{"\x1b[4h", log},
		{"\x1b[?7l", log},
		{"\x1b(0", log},
		{"\x1b[3H\x1b#6\x1b[H", log},
		{"\x1b[", log},
		{"\xe6", log},
		{"\x1b[?2026h", log},
	} {
		s := screen.New(20, 5)
		s.Write([]byte(tt.before))
		if n := s.Skip([]byte(tt.text)); n != 0 {
			t.Errorf("after %q, %d bytes of %.40q were skipped, want none", tt.before, n, tt.text)
		}
	}
}
