package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestReadLine(t *testing.T) {
	tests := []struct {
		typed, want, shown string
		err                error
	}{
		{"secret\r", "secret", "secret", nil},
		{"wrong\x15right\n", "right", "wrong" + strings.Repeat("\b \b", 5) + "right", nil},
		{"ab\x7f\x7f\x7fc\r", "c", "ab\b \b\b \bc", nil},
		{"pä\x1b[A€\r", "pä[A€", "pä[A€", nil},
		{"half\x03", "", "half", errInterrupted},
		{"\x04", "", "", errInterrupted},
		{"a\x04b\r", "ab", "ab", nil},
	}
	for _, tt := range tests {
		for _, echo := range []bool{true, false} {
			var out bytes.Buffer
			got, err := readLine(strings.NewReader(tt.typed), &out, echo)
			want := tt.shown
			if !echo {
				want = ""
			}
			if got != tt.want || !errors.Is(err, tt.err) || out.String() != want {
				t.Errorf(
					"%q, echo %v: got %q, %v, shown %q; want %q, %v, shown %q",
					tt.typed,
					echo,
					got,
					err,
					out.String(),
					tt.want,
					tt.err,
					want,
				)
			}
		}
	}
}

func TestPlain(t *testing.T) {
	const hostile = "a\x1b]52;c;eA==\x07b\u202ec\u200bd\xffe\r\nf\tg\x1b[2Jh"
	got := plain(hostile)
	for _, bad := range []string{"\x1b", "\x07", "\u202e", "\u200b", "52;c", "\xff"} {
		if strings.Contains(got, bad) {
			t.Errorf("%q is still in %q", bad, got)
		}
	}
	if !strings.Contains(got, "e\nf") || strings.Contains(printable(hostile), "\n") {
		t.Errorf("the lines of %q are not as they were, or those of %q are", got, printable(hostile))
	}
}
