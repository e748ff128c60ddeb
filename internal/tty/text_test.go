package tty

import (
	"strings"
	"testing"
)

func TestPlain(t *testing.T) {
	const hostile = "a\x1b]52;c;eA==\x07b\u202ec\u200bd\xffe\r\nf\tg\x1b[2Jh"
	got := Plain(hostile)
	for _, bad := range []string{"\x1b", "\x07", "\u202e", "\u200b", "52;c", "\xff"} {
		if strings.Contains(got, bad) {
			t.Errorf("%q is still in %q", bad, got)
		}
	}
	if !strings.Contains(got, "e\nf") || strings.Contains(Printable(hostile), "\n") {
		t.Errorf("the lines of %q are not as they were, or those of %q are", got, Printable(hostile))
	}
}

// Text from elsewhere stays on its line of the terminal, and does nothing to it.
func TestPrintable(t *testing.T) {
	const hostile = "web1\x1b]0;x\a\x1b[2J\r\nfake: line\tx\u202e\u009b31m"
	if got := Printable(hostile); strings.ContainsAny(got, "\x1b\a\r\n\t\u202e\u009b") ||
		!strings.HasPrefix(got, "web1 fake: line x") {
		t.Errorf("Printable(%q) = %q, want one line without control characters", hostile, got)
	}
}
