package term_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"ptyctl/term"
)

func TestForeign(t *testing.T) {
	for _, tc := range []struct{ in, text, line string }{
		{"plain é 漢 text", "plain é 漢 text", "plain é 漢 text"},
		{"one\r\ntwo\n\n\tthree\r\n", "one\ntwo\n\n\tthree\n", "one / two / three"},
		{"\x1b[31mred\x1b]0;t\a", `\x1b[31mred\x1b]0;t\x07`, `\x1b[31mred\x1b]0;t\x07`},
		{"a\x00b\x7fc\u009bd", `a\x00b\x7fc\x9bd`, `a\x00b\x7fc\x9bd`},
		{"over\rwritten", `over\x0dwritten`, "over / written"},
		{"\u202eevil\u2066\u200b\ufeff", `\u202eevil\u2066\u200b\ufeff`, `\u202eevil\u2066\u200b\ufeff`},
		{"\U000e0041\U000e0100\u115f\u3164", `\ue0041\ue0100\u115f\u3164`, `\ue0041\ue0100\u115f\u3164`},
		{"no\u00a0break\u3000wide\u2028line", `no break wide\u2028line`, `no break wide\u2028line`},
		{"\xff\xc3(", "\uFFFD\uFFFD(", "\uFFFD\uFFFD("},
		{"heart \u2764\ufe0f", "heart \u2764\ufe0f", "heart \u2764\ufe0f"},
		{"", "", ""},
	} {
		if got := term.Foreign(tc.in, 1000); got != tc.text {
			t.Errorf("Foreign(%q) = %q, want %q", tc.in, got, tc.text)
		}
		if got := term.ForeignLine(tc.in, 1000); got != tc.line {
			t.Errorf("ForeignLine(%q) = %q, want %q", tc.in, got, tc.line)
		}
	}
}

// Every result is valid, visible and within the limit, and a second call leaves it as it is.
// TestForeignStart checks the number of bytes that a text says are missing, where only its start was kept.
func TestForeignStart(t *testing.T) {
	for _, tc := range []struct {
		text        string
		more, limit int
		want        string
	}{
		{"abc", 0, 100, "abc"},
		{"abc", 7, 100, "abc[... 7 bytes more]"},
		{"abc", 7, 20, "a[... 9 bytes more]"},
		{strings.Repeat("a", 100), 900, 32, strings.Repeat("a", 11) + "[... 989 bytes more]"},
		{strings.Repeat("a", 32), 1, 32, strings.Repeat("a", 13) + "[... 20 bytes more]"},
		{strings.Repeat("\x1b", 10), 5, 30, `\x1b\x1b[... 13 bytes more]`},
	} {
		if got := term.ForeignStart(tc.text, tc.more, tc.limit); got != tc.want || len(got) > tc.limit {
			t.Errorf("ForeignStart(%q, %d, %d) = %q, want %q", tc.text, tc.more, tc.limit, got, tc.want)
		}
	}
}

func FuzzForeign(f *testing.F) {
	for _, s := range []string{
		strings.Repeat("\x1b[2J", 300), strings.Repeat("é", 200), "a\r\n\rb", "\xff\xfe",
		"\u202e",
	} {
		f.Add(s, 100)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		if limit < 64 || limit > 1<<20 {
			t.Skip()
		}
		for name, show := range map[string]func(string, int) string{
			"Foreign":     term.Foreign,
			"ForeignLine": term.ForeignLine,
		} {
			got := show(s, limit)
			if len(got) > limit || !utf8.ValidString(got) {
				t.Errorf("%s(%q, %d) = %q, want at most %d bytes of UTF-8", name, s, limit, got, limit)
			}
			if again := show(got, limit); again != got {
				t.Errorf("%s of %q = %q, want no change", name, got, again)
			}
			for _, r := range got {
				if r != '\n' && r != '\t' && !unicode.IsPrint(r) || r < utf8.RuneSelf && name == "ForeignLine" && r < ' ' {
					t.Errorf("%s(%q) = %q, want no %U", name, s, got, r)
				}
			}
		}
	})
}
