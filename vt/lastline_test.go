package vt_test

import (
	"slices"
	"strings"
	"testing"

	"ptyctl/vt"
)

func TestLastLine(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"empty", "", ""},
		{"ends with LF", "abc\n", ""},
		{"text", "abc\ndef", "def"},
		{"login", "Debian GNU/Linux 12 host ttyS0\r\n\r\nhost login: ", "host login: "},
		{"NUL", "pass\x00word: ", "password: "},
		{"HT", "a\tb", "a       b"},
		{"typed and erased", "$ ab\b \b\b \b", "$ "},
		{"CR and EL", "10%\r\x1b[Kdone", "done"},
		{"cleared screen", "text\x1b[H\x1b[2J", ""},
		{"cleared screen and prompt", "text\x1b[H\x1b[J$ ", "$ "},
		{"bash", "\x1b[?2004h\x1b]0;me@host: ~\x07\x1b[01;32mme@host\x1b[00m:\x1b[01;34m~\x1b[00m$ ", "me@host:~$ "},
		{"busybox ash", "~ # \x1b[6n", "~ # "},
		{"zsh", "\x1b[1m\x1b[7m%\x1b[27m\x1b[1m\x1b[0m" + strings.Repeat(" ", 79) + "\r \r" +
			"\r\x1b[0m\x1b[27m\x1b[24m\x1b[Jhost% \x1b[K\x1b[?2004h", "host% "},
		{"zsh with a right prompt", "\r\x1b[0m\x1b[27m\x1b[24m\x1b[Jhost% \x1b[K\x1b[10Cmain\x1b[14D", "host%           main"},
		{"fish", "\x1b[2m\u23ce\x1b[m" + strings.Repeat(" ", 79) + "\r\u23ce \r\x1b[2K" +
			"\x1b]0;fish /\x07\x1b[m\x1b[92mme\x1b[m@host /> \x1b[K\r\x1b[11C", "me@host /> "},
		{"switch that addresses its prompt", "\x1b[24;1H\x1b[2Ksw1# \x1b[24;1H\x1b[24;6H\x1b[24;1H\x1b[?25h\x1b[24;6H", "sw1# "},
		{"switch that echoes by address", "\x1b[24;1Hsw1# \x1b[24;6Hs\x1b[24;7Hh\x1b[24;8H", "sw1# sh"},
		{"pager", "text\r\n\x1b[7m--More--\x1b[27m", "--More--"},
		{"pager erased", "--More--\b\b\b\b\b\b\b\b        \b\b\b\b\b\b\b\bsw1# ", "sw1# "},
		{"readline's history", "$ ls -la\b\b\b\b\b\bcd /\x1b[K", "$ cd /"},
		{"readline inserts", "$ ac\b\x1b[1@b", "$ abc"},
		{"readline deletes", "$ abc\b\b\x1b[1P", "$ ac"},
		{"after the alternate screen", "\x1b[24;1Hstatus\x1b[?1049l\r\x1b[?1l\x1b>$ ", "$ "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := vt.LastLine([]byte(tt.in)); got != tt.want {
				t.Errorf("%q shows as\n%q, want\n%q", tt.in, got, tt.want)
			}
			everyCut(tt.in, func(how string, pieces ...string) {
				var c vt.Cleaner
				for _, p := range pieces {
					c.Append(nil, []byte(p))
					c.Line() // must not change the state
				}
				if got, _ := c.Line(); got != tt.want {
					t.Errorf("%s: %q shows as %q, want %q", how, tt.in, got, tt.want)
				}
			})
		})
	}
}

func TestLineCursor(t *testing.T) {
	tests := []struct{ name, in, left, right string }{
		{"at the end", "$ ls", "$ ls", ""},
		{"right prompt", "$ \x1b[10Cmain\x1b[14D", "$ ", "          main"},
		{"suggestion", "> l\x1b[90ms -la\x1b[m\r\x1b[3C", "> l", "s -la"},
		{"non-ASCII", "é漢x\b", "é漢", "x"},
		{"behind the end", "a\x1b[9C", "a", ""},
		{"in another row", "\x1b[3;1Hab\x1b[1;1H", "ab", ""},
		{"start", "ab\r", "", "ab"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var c vt.Cleaner
			c.Append(nil, []byte(tt.in))
			if got, at := c.Line(); got[:at] != tt.left || got[at:] != tt.right {
				t.Errorf("%q shows as %q and %q, want %q and %q", tt.in, got[:at], got[at:], tt.left, tt.right)
			}
		})
	}
}

// Line must not change the later output.
func TestLineOnlyLooks(t *testing.T) {
	for _, in := range []string{
		"a\tb  \r\n", "abc \rX\n", "漢 \b\n", "a \x1b[5;1Hb", "x   ",
		strings.Repeat("ab\t", 3000),
	} {
		for _, cols := range []int{0, 5} {
			want := clean(cols, in)
			everyCut(in[:min(len(in), 50)], func(how string, pieces ...string) {
				if len(in) > 50 {
					pieces = append(slices.Clip(pieces), in[50:])
				}
				c := vt.Cleaner{Cols: cols}
				var out []byte
				for _, p := range pieces {
					out = c.Append(out, []byte(p))
					c.Line()
				}
				if out = c.Flush(out); string(out) != want.text || c.Sanitized() != want.count {
					t.Errorf("%s: %.40q becomes %.40q (%d), want %.40q (%d)", how, in, out, len(out), want.text, len(want.text))
				}
			})
		}
	}
}

func TestLines(t *testing.T) {
	tests := []struct {
		in   string
		want []string
	}{
		{"", []string{""}},
		{"a", []string{"a"}},
		{"a\r\n", []string{"a", ""}},
		{"a\tb\r\n10%\r20%\r\n\r\n$ ", []string{"a       b", "20%", "", "$ "}},
		{"\x1b[1;1Hone\x1b[2;1Htwo\x1b[3;1H", []string{"one", "two"}},
	}
	for _, tt := range tests {
		if got := vt.Lines([]byte(tt.in)); !slices.Equal(got, tt.want) {
			t.Errorf("%q shows as %q, want %q", tt.in, got, tt.want)
		}
	}
}
