package tty

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTable(t *testing.T) {
	long := strings.Repeat("ä", 300)
	for _, width := range []int{20, 80, 120, 200} {
		var b strings.Builder
		Table(&b, [][]string{{"SESSION", "STATE", "HOST"}, {"web1-k3f9q2zd", "closed: " + long, "ssh web1"}}, width)
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); n > max(width, 3*leastCell+2*columnGap) {
				t.Errorf("a line of a table %d wide has %d columns: %q", width, n, line)
			}
		}
		if width >= 80 && (!strings.HasPrefix(lines[1], "web1-k3f9q2zd  closed: ä") ||
			!strings.HasSuffix(lines[1], "…  ssh web1")) {
			t.Errorf("row of a table %d wide = %q, want the reason alone cut", width, lines[1])
		}
	}
}

// A table keeps to a terminal of 40 columns: the columns that matter least go first.
func TestTableNarrow(t *testing.T) {
	rows := [][]string{
		{"SESSION", "STATE", "HOST", "ACTIVE", "LOCKED BY", "PROCESS"},
		{"web1-k3f9q2zd", "authenticating (asks: ptyctl answer)", "ssh web1", "12s", "task deploy", "1234567"},
		{"a-very-long-name-of-host-k3f9q2zd", "open", "telnet a-very-long-name-of-host", "-", "-", "1234567"},
	}
	for width := 40; width <= 200; width++ {
		var b strings.Builder
		Table(&b, rows, width, "PROCESS", "LOCKED BY", "ACTIVE", "HOST")
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("a line of a table %d wide has %d columns: %q", width, n, line)
			}
		}
		if !strings.Contains(b.String(), "SESSION") || !strings.Contains(b.String(), "STATE") {
			t.Errorf("a table %d wide lacks a column that matters most:\n%s", width, &b)
		}
		if all := strings.Contains(b.String(), "PROCESS"); all != (width >= 55) {
			t.Errorf("a table %d wide has all columns: %t\n%s", width, all, &b)
		}
	}
}
