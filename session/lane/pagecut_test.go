package lane

import (
	"strings"
	"testing"
)

// A pager's line and its erasure leave the same output, however the stream is cut.
func TestPageCut(t *testing.T) {
	tests := []struct{ name, after, want string }{ // after the key
		{"backspaces", "\b\b\b   \b\b\bnext\n", "next\n"},
		{"backspaces and NUL", "\x00\b\b\b   \b\b\bnext\n", "next\n"},
		{"carriage returns", "\r        \rnext\n", "next\n"},
		{"indented", "\r        \r   next\n", "   next\n"},
		{"overwritten", "\rnext\n", "next\n"},
		{"overwritten, then EL", "\rnext\x1b[K\nafter\x1b[K\n", "next\nafter\x1b[K\n"},
		{"indented over it, then EL", "\r  next\x1b[K\n", "  next\n"},
		{"EL, then EL", "\r\x1b[Knext\x1b[K\n", "next\x1b[K\n"},
		{"EL", "\r\x1b[Knext\n", "next\n"},
		{"EL 2", "\x1b[2K\x1b[Gnext\n", "next\n"},
		{"CUB", "\x1b[16D                \x1b[16Dnext\n", "next\n"},
		{"bell", "\a\r    \rnext\n", "next\n"},
		{"colour of the next line", "\r\x1b[K\x1b[31mnext\n", "\x1b[31mnext\n"},
		{"another sequence", "\r    \r\x1b[?25hnext\n", "\x1b[?25hnext\n"},
		{"another escape", "\r    \r\x1b(Bnext\n", "\x1b(Bnext\n"},
		{"nothing", "next\n", "next\n"},
		{"its own line end", "\nnext\n", "next\n"},
		{"its own line end, CR CR LF", "\r\nnext\n", "next\n"},
		{"a blank line", "\r    \r\nnext\n", "\nnext\n"},
		{"two blank lines", "\r    \r\n\nnext\n", "\n\nnext\n"},
		{"its own line end, and a blank line", "\n\nnext\n", "\nnext\n"},
		{"the end", "\b\b\b   \b\b\b", ""},
		{"the end within a sequence", "\r    \r\x1b[", "\x1b["},
		{"a prompt", "\r    \rr1# ", "r1# "},
		{"endless", strings.Repeat("\r ", 4000) + "next\n", "next\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, size := range []int{1, 2, 3, 1 << 20} {
				c := pageCut{on: true}
				got := string(c.strip([]byte("before\n --More")))
				got += string(c.strip([]byte("-- ")))
				c.turn("")
				for rest := tt.after; rest != ""; {
					n := min(size, len(rest))
					got += string(c.strip([]byte(rest[:n])))
					rest = rest[n:]
				}
				got += string(c.stop()) + string(c.strip([]byte("x")))
				want := "before\n" + tt.want + "x"
				if tt.name == "endless" { // bounded: a sequence too long for an erasure is output
					got, want = got[len(got)-6:], want[len(want)-6:]
				}
				if got != want {
					t.Errorf("in pieces of %d: %q, want %q", size, got, want)
				}
			}
		})
	}
}

// A pager in the middle of a line, at the end of a row.
func TestPageCutRow(t *testing.T) {
	for after, want := range map[string]string{
		"\b\b   \b\bbcd\nnext\n": "before\nabcd\nnext\n",
		"\r\x1b[K\nnext\n":       "before\na\nnext\n",
		"\nnext\n":               "before\na\nnext\n",
		"\b\b":                   "before\na",
	} {
		c := pageCut{on: true}
		got := string(c.strip([]byte("before\na --More-- ")))
		c.turn("a")
		got += string(c.strip([]byte(after))) + string(c.stop())
		if got != want {
			t.Errorf("%q: %q, want %q", after, got, want)
		}
	}
}

// The held bytes are bounded, and a command that turns no pages loses nothing.
func TestPageCutBound(t *testing.T) {
	long := strings.Repeat("x", 3*lineBack)
	c := pageCut{on: true}
	got := string(c.strip([]byte(long)))
	if len(c.line) > lineBack || got+string(c.flush()) != long {
		t.Errorf("%d bytes are held back", len(c.line))
	}
	c = pageCut{}
	if got := string(c.strip([]byte("--More--"))) + string(c.stop()); got != "--More--" {
		t.Errorf("output without a turned page = %q, want --More--", got)
	}
}

func FuzzPageCut(f *testing.F) {
	f.Add([]byte("\r    \rnext\n"), 3)
	f.Add([]byte("\x1b[16D\x1b[Kx\x1b["), 1)
	f.Fuzz(func(t *testing.T, after []byte, size int) {
		if size <= 0 || len(after) > lineBack {
			return
		}
		cut := func(size int) string {
			c := pageCut{on: true}
			c.strip([]byte("--More--"))
			c.turn("")
			var got []byte
			for rest := after; len(rest) > 0; {
				n := min(size, len(rest))
				got = append(got, c.strip(rest[:n])...)
				rest = rest[n:]
			}
			return string(append(got, c.stop()...))
		}
		whole := cut(len(after) + 1)
		if got := cut(size); got != whole || len(whole) > len(after) {
			t.Errorf("%q in pieces of %d: %q, whole: %q", after, size, got, whole)
		}
	})
}
