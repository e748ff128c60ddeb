package attach

import "testing"

func TestFrame(t *testing.T) {
	const lines = "one\r\ntwo\r\nthree\r\nfour"
	const fullScreen = "\x1b[?1049h\x1b[2J\x1b[5;5Hmid\r\n\r\n\r\ndle"
	for _, c := range []struct{ name, held, state, part string }{
		{"the last lines", lines, "", "three\r\nfour"},
		{"their colour", "one\r\n\x1b[31mtwo\r\nthree\r\nfour", "\x1b[31m", "three\r\nfour"},
		{"a full-screen program", lines + fullScreen, "", fullScreen},
		{"its state before", "\x1b[?25l" + lines + "\x1b[?1049hx", "\x1b[?25l", "\x1b[?1049hx"},
		{"after such a program", lines + "\x1b[?1049hscattered\r\n\x1b[?1049lback", "\x1b[?1049h", "\x1b[?1049lback"},
		{"nothing", "", "", ""},
		{"an end within a sequence", "x\x1b[3", "", "x\x1b[3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := frameOf([]byte(c.held), 2, false)
			if string(p.state) != c.state || string(p.part) != c.part {
				t.Errorf("frameOf(%q) = %q, %q; want %q, %q", c.held, p.state, p.part, c.state, c.part)
			}
		})
	}
}

func TestTailLines(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"a\nb\nc\n", 2, "b\nc\n"},
		{"a\nb\nc", 2, "b\nc"},
		{"a\nb\nc\n", 9, "a\nb\nc\n"},
		{"\n\n\n", 2, "\n\n"},
		{"a", 0, ""},
		{"", 5, ""},
	} {
		if got := string(tailLines([]byte(c.text), c.n)); got != c.want {
			t.Errorf("tailLines(%q, %d) = %q, want %q", c.text, c.n, got, c.want)
		}
	}
}
