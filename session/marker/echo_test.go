package marker

import "testing"

func TestEcho(t *testing.T) {
	for _, tt := range []struct{ name, line, in, want string }{
		{"verbatim", "show ver", "show ver\r\nout\r\n", "out\n"},
		{"doubled CR", "show ver", "show ver\r\r\nout\r\n", "out\n"},
		{"wrapped", "show ver", "show \rver\r\nout", "out"},
		{"wrapped as readline does", "show ver", "show v \rer\r\nout", "out"},
		{"no line end", "show ver", "show verout", "out"},
		{"blank line after it", "ls", "ls\r\n\r\nout", "\nout"},
		{"not echoed", "ls", "out\r\n", "out\n"},
		{"not echoed, begins alike", "ls", "lost+found\r\n", "lost+found\n"},
		{"never whole", "show ver", "show", "show"},
		{"nothing", "ls", "", ""},
		{"bash", "ls", "ls\r\n\x1b[?2004l\rout\r\n", "out\n"},
		{"bash, a blank line after it", "ls", "ls\r\n\x1b[?2004l\r\r\nout", "\nout"},
		{"zsh", "ls", "ls\x1b[?2004l\r\r\nout\r\n", "out\n"},
		{"colour after it", "ls", "ls\r\n\x1b[31mout", "\x1b[31mout"},
		{"another mode after it", "ls", "ls\r\n\x1b[?2004h$ ", "\x1b[?2004h$ "},
		{"nothing after it", "ls", "ls\r\n\x1b[?2004l\r", ""},
		{"cut off", "ls", "ls\r\n\x1b[?200", "\x1b[?200"},
		{"CR at the end", "ls", "ls\r\n10%\r", "10%\r"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for i := range len(tt.in) + 1 {
				e, ends := NewEcho(tt.line), LineEnds{}
				var out []byte
				for _, p := range []string{tt.in[:i], tt.in[i:]} {
					out = append(out, e.Strip(ends.Convert(nil, []byte(p)))...)
				}
				out = append(append(out, e.Strip(ends.Flush(nil))...), e.Flush()...)
				if string(out) != tt.want {
					t.Errorf("cut at %d: %q, want %q", i, out, tt.want)
				}
			}
		})
	}
}
