package vt

import (
	"strings"
	"testing"
)

func TestWithoutSGR(t *testing.T) {
	long := "\x1b[" + strings.Repeat("1;", 80) + "m"
	for _, tt := range []struct {
		name, data, want string
		escapes          int
	}{
		{"nothing", "", "", 0},
		{"text", "plain\r\n\ttext\x00\a", "plain\r\n\ttext\x00\a", 0},
		{"colours", "\x1b[31mred\x1b[0m \x1b[1;38;2;1;2;3mx\x1b[m", "red x", 0},
		{"subparameters", "\x1b[4:3mcurly\x1b[0m", "curly", 0},
		{"concealed text", "\x1b[8msecret\x1b[0m", "secret", 0},
		{"a move", "\x1b[2Jx\x1b[1;1H", `\x1b[2Jx\x1b[1;1H`, 2},
		{"a title", "\x1b]0;t\ax", "\\x1b]0;t\ax", 1},
		{"not SGR", "\x1b[>4;1mx\x1b[?1mx", `\x1b[>4;1mx\x1b[?1mx`, 2},
		{"SGR with an intermediate byte", "\x1b[1 mx", `\x1b[1 mx`, 1},
		{"ESC before SGR", "\x1b\x1b[1mx", `\x1bx`, 1},
		{"alone", "\x1b", `\x1b`, 1},
		{"cut", "x\x1b[3", `x\x1b[3`, 1},
		{"too long", long, `\x1b` + long[1:], 1},
		{"the text of the replacement", `\x1b[31m`, `\x1b[31m`, 0},
		{"not UTF-8", "\xff\x1b[1m\xfe", "\xff\xfe", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, s := WithoutSGR(nil, []byte(tt.data), false); string(got) != tt.want || s != (Sanitized{Escapes: tt.escapes}) {
				t.Errorf("WithoutSGR(%q) = %q, %+v; want %q, %d escapes", tt.data, got, s, tt.want, tt.escapes)
			}
			// Cut anywhere, with the part before as context, it is the same.
			for cut := range tt.data {
				a, sa := WithoutSGR(nil, []byte(tt.data[:cut]), true)
				b, sb := WithoutSGR([]byte(tt.data[:cut]), []byte(tt.data[cut:]), false)
				if got := string(a) + string(b); got != tt.want || sa.Escapes+sb.Escapes != tt.escapes {
					t.Errorf("%q cut at %d gives %q and %q, %d escapes; want %q, %d",
						tt.data, cut, a, b, sa.Escapes+sb.Escapes, tt.want, tt.escapes)
				}
			}
		})
	}
}
