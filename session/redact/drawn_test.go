package redact

import (
	"strings"
	"testing"
)

// drawnThrough feeds the pieces, ends the stream, and returns the output for a screen.
func drawnThrough(f *filter, pieces ...string) string {
	var drawn []byte
	pass := func(step func(out []byte) []byte) {
		out := step(nil)
		drawn = append(drawn, Drawn(out, f.echoes)...)
		f.echoes = nil
	}
	for _, p := range pieces {
		pass(func(out []byte) []byte { return f.feed(out, []byte(p)) })
	}
	pass(f.release)
	return string(drawn)
}

// TestDrawn: a screen gets an asterisk for each column of a secret, and all that moves its cursor.
func TestDrawn(t *testing.T) {
	for _, tc := range []struct{ name, write, in, want string }{
		{"echo", "correct horse\r", "Password: correct horse\r\nok", "Password: *************\r\nok"},
		{"wrapped by readline", "correct horse\r", "$ corre \rct horse\r\nok", "$ ***** \r********\r\nok"},
		{"wrapped with sequences", "correct horse\r", "cor\x1b[K\x1b[1;31mrect horse.", "***\x1b[K\x1b[1;31m**********."},
		{"as dialog draws it", "coor\r", "co\x1b(B\x1b[m\x1b[30mo\x1b(B\x1b[m\x1b[30mr", "**\x1b(B\x1b[m\x1b[30m*\x1b(B\x1b[m\x1b[30m*"},
		{"wrapped with NUL and backspace", "correct horse\r", "correct\x00 ho\b\brse", "*******\x00***\b\b***"},
		{"wide", "日本語パス\r", "> 日本語パス.", "> **********."},
		{"accents", "pässwörter\r", "pässwörter$", "**********$"},
		{"combining", "passwo\u0308rter\r", "passwo\u0308rter$", "**********$"},
		{"not UTF-8", "passw\xf6rter\r", "passw\xf6rter$", "**********$"},
		{"holds a sequence", "pass\x1b[31mword\r", "pass\x1b[31mword$", "************$"},
		{"holds a tab", "pass\tword\r", "pass\tword$", "****\t****$"},
		{"one character", "y", "yyy", "*yy"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := drawnThrough(looking(tc.write), tc.in); got != tc.want {
				t.Fatalf("whole: %q, want %q", got, tc.want)
			}
			for i := range tc.in {
				if got := drawnThrough(looking(tc.write), tc.in[:i], tc.in[i:]); got != tc.want {
					t.Errorf("cut at %d: %q, want %q", i, got, tc.want)
				}
			}
		})
	}
}

// TestDrawnSlowly: an echo keeps its width if it comes in parts and each part is passed on.
func TestDrawnSlowly(t *testing.T) {
	const text = "correct horse"
	for i := 1; i < len(text); i++ {
		f := looking(text)
		got := drawnThrough(f, text[:i]) + drawnThrough(f, text[i:]+"\r\n")
		want := strings.Repeat("*", len(text)) + "\r\n"
		if i < anyChars {
			want = text[:i] + want[i:]
		}
		if got != want {
			t.Errorf("%d characters, and the rest: %q, want %q", i, got, want)
		}
	}
}
