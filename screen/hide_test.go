package screen_test

import (
	"bytes"
	"strings"
	"testing"

	"ptyctl/screen"
)

// What Hide has found stays covered, wherever it goes and whatever becomes of the rest of it.
func TestHideStays(t *testing.T) {
	const secret = "secret"
	for _, tt := range []struct {
		name, in   string
		look       bool // before what follows
		after      string
		cols, rows int // of a resize; 0: none
		want       string
	}{
		{"its beginning scrolls off the top", "01234567secret x\r\n\n", false, "", 0, 0, "**** x"},
		{"its beginning scrolls off after a look", "01234567secret x", true, "\r\n\n", 0, 0, "**** x"},
		{"of two lines", "01234567se\r\ncret x\r\n\n", false, "", 0, 0, "**** x"},
		{"scrolls in the alternate screen", "\x1b[?1049h\x1b[1;9Hsecret x", true, "\x1b[S", 0, 0, "**** x"},
		{"characters before it and in it are deleted", "a secret x", true, "\r\x1b[5P", 0, 0, "*** x"},
		{"a character is put into it", "a secret x", true, "\r\x1b[4C\x1b[@", 0, 0, "a ** ****"},
		{"overwritten in part", "a secret x", true, "\r\x1b[4CX", 0, 0, "a **X*** x"},
		{"a narrower screen", "\x1b[2;4Hsecret\r\n$ ", false, "", 6, 3, "   ***|***|$"},
		{"cut by a narrower alternate screen", "\x1b[?1049h\x1b[1;3Hsecret", false, "", 5, 3, "  ***"},
		{"the main screen comes back", "secret", true, "\x1b[?1049hx\x1b[?1049l\r\x1b[3P", 0, 0, "***"},
		{"the underline keeps its colour", "\x1b[4;58;5;1mab", true, "", 0, 0, "ab"},
	} {
		s := screen.New(10, 3)
		s.Hide(func(text []byte) (parts [][2]int) {
			if i := bytes.Index(text, []byte(secret)); i >= 0 {
				parts = append(parts, [2]int{i, i + len(secret)})
			}
			return parts
		})
		_, _ = s.Write([]byte(tt.in))
		if tt.look {
			s.Snapshot()
		}
		_, _ = s.Write([]byte(tt.after))
		if tt.cols > 0 {
			s.Resize(tt.cols, tt.rows)
		}
		snap := s.Snapshot()
		if got := text(snap); got != tt.want {
			t.Errorf("%s: the screen shows %q, want %q", tt.name, got, tt.want)
		}
		if tt.name == "the underline keeps its colour" && snap.Cell(0, 0).Line == 0 {
			t.Errorf("%s: it has none", tt.name)
		}
		if left := s.Scrollback().Text(); strings.Contains(left, "se") || strings.Contains(left, "ret") {
			t.Errorf("%s: the scrollback is %q, want the secret covered", tt.name, left)
		}
	}
}
