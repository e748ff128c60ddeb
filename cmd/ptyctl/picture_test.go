package main

import (
	"strings"
	"testing"
)

func TestPicture(t *testing.T) {
	const lines = "one\r\ntwo\r\nthree\r\nfour"
	for _, c := range []struct{ name, held, state, part string }{
		{"the last lines", lines, "", "three\r\nfour"},
		{"their colour", "one\r\n\x1b[31mtwo\r\nthree\r\nfour", "\x1b[31m", "three\r\nfour"},
		{"a full-screen program", lines + "\x1b[?1049h\x1b[2J\x1b[5;5Hmid\r\n\r\n\r\ndle", "", "\x1b[?1049h\x1b[2J\x1b[5;5Hmid\r\n\r\n\r\ndle"},
		{"its state before", "\x1b[?25l" + lines + "\x1b[?1049hx", "\x1b[?25l", "\x1b[?1049hx"},
		{"after such a program", lines + "\x1b[?1049hscattered\r\n\x1b[?1049lback", "\x1b[?1049h", "\x1b[?1049lback"},
		{"nothing", "", "", ""},
		{"an end within a sequence", "x\x1b[3", "", "x\x1b[3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := pictureOf([]byte(c.held), 2, false)
			if string(p.state) != c.state || string(p.part) != c.part {
				t.Errorf("%q, %q; want %q, %q", p.state, p.part, c.state, c.part)
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
			t.Errorf("%q, %d: %q, want %q", c.text, c.n, got, c.want)
		}
	}
}

// What comes from elsewhere stays on its line of the person's terminal, and does nothing to it.
func TestPrintable(t *testing.T) {
	const hostile = "web1\x1b]0;x\a\x1b[2J\r\nfake: line\tx\u202e\u009b31m"
	if got := printable(hostile); strings.ContainsAny(got, "\x1b\a\r\n\t\u202e\u009b") ||
		!strings.HasPrefix(got, "web1 fake: line x") {
		t.Errorf("%q", got)
	}
}
