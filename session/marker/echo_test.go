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
				e, ends := NewEcho(tt.line, "$ ", 0, false), LineEnds{}
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

// TestDrawnEcho has echoes that line editors have drawn in narrow windows.
func TestDrawnEcho(t *testing.T) {
	for _, tt := range []struct {
		name, before, line string
		cols               int
		edited             bool
		in, want           string
	}{
		{"mksh", "$ ", "echo some words", 10, false, "echo \r$ echo <\b\b\bso\recho so <\b\bm\rho som <\b\be\r" +
			"some wo <\b\br\rome wor <\b\bd\rme word <\b\bs\r\r\nsome words\r\n", "some words\n"},
		{"the row is full", "$ ", "echo x", 8, false, "echo x \b\r\r\nx\r\n", "x\n"},
		{"busybox", "$ ", "echo xxxxxxxx", 8, false, "echo x\r\r\nxxxxxxx\r\nxxxxxxxx\r\n", "xxxxxxxx\n"},
		{"ksh93, a blank between rows", "$ ", "echo a b", 8, false, "echo a\r\n\rb\r\na b\r\n", "a b\n"},
		{"readline, sideways", "$ ", "echo some words", 10, true, "\r<e words\r\n\x1b[?2004l\rsome words\r\n", "some words\n"},
		{"zsh", "% ", "ls", 80, true, "l\bls\x1b[?1l\x1b>\x1b[?2004l\r\r\nout\r\n", "out\n"},
		{"zsh, seen late", "% ", "ls", 80, false, "\x1b[?2004hl\bls\x1b[?2004l\r\r\nout\r\n", "out\n"},
		{"fish", "> ", "ls", 80, true, "l\r\x1b[2Cls\r\x1b[4C\r\n\x1b[m\x1b[?2004l\x1b]0;ls\a\x1b[m\rout\r\n", "out\n"},
		{"colours after it", "$ ", "ls", 80, true, "ls\r\n\x1b[?2004l\r\x1b[34mout\r\n", "\x1b[34mout\n"},
		{"an editor that does not say so", "$ ", "ls", 80, true, "ls\r\nout\r\n", "out\n"},
		{"no echo, a progress bar", "$ ", "get x", 80, false, " 10%\r100%\r\ndone\r\n", " 10%\r100%\ndone\n"},
		{"no echo, a word of the line", "$ ", "echo x", 80, false, "x\r\n", "x\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for i := range len(tt.in) + 1 {
				e, ends := NewEcho(tt.line, tt.before, tt.cols, tt.edited), LineEnds{}
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
