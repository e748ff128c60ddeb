package tty

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
