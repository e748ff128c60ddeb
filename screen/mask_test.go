package screen_test

import (
	"bytes"
	"strings"
	"testing"

	"ptyctl/screen"
)

func TestMask(t *testing.T) {
	for _, tt := range []struct{ in, secret, want string }{
		{"ab secret", "secret", "ab ******"},
		{"012345secret x", "secret", "012345****|** x"}, // over the end of a row
		{"012345secr\r\net", "secret", "012345****|**"}, // two lines
		{"01234secr\r\net", "secret", "01234secr|et"},   // two lines; the first is not full
		{"a漢字b", "漢字", "a****b"},
		{"ae\u0301b", "e\u0301", "a*b"},
		{"\x1b]8;;http://secret\x07secret\x1b]8;;\x07 x", "secret", "****** x"},
		{"nothing", "secret", "nothing"},
	} {
		s := draw(tt.in)
		snap := s.Snapshot()
		snap.Mask(func(line []byte) (parts [][2]int) {
			if i := bytes.Index(line, []byte(tt.secret)); i >= 0 {
				parts = append(parts, [2]int{i, i + len(tt.secret)})
			}
			return parts
		})
		if got := text(snap); got != tt.want {
			t.Errorf("%q with %q covered is %q, want %q", tt.in, tt.secret, got, tt.want)
		}
		if link := snap.Cell(0, 0).Link; link != "" {
			t.Errorf("%q: the covered text still has the link %q", tt.in, link)
		}
		snap.Mask(func(line []byte) [][2]int { return [][2]int{{-5, 5000}} }) // a find that is wrong
		checkLines(t, &snap.Lines)
		if again := s.Diff(snap.Version); len(again.Changed) != 0 || again.Full {
			t.Errorf("%q: a covered snapshot counts as a change of the screen", tt.in)
		}
	}
	var none screen.Lines
	none.Mask(func([]byte) [][2]int { return [][2]int{{0, 1}} })
}

// A question within a secret has no answer, which would wait for the next question.
func TestQuestionInASecret(t *testing.T) {
	s := screen.New(20, 2)
	_, _ = s.Write([]byte("\x1b[5n"))
	s.WriteSecret([]byte("hun\x1b[cter"))
	if got, want := string(s.Replies()), "\x1b[0n"; got != want {
		t.Errorf("the answers are %q, want %q", got, want)
	}
	s.WriteSecret([]byte("hun\x1b[cter"))
	if got := s.Replies(); len(got) > 0 {
		t.Errorf("a secret was answered with %q", got)
	}
}

// Text found by Hide stays covered, wherever it moves, even if the rest of the secret is erased.
func TestHideStays(t *testing.T) {
	const secret = "secret"
	for _, tt := range []struct {
		name, in   string
		look       bool // before the following
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

// TestTitleCutInSecret: the visible part of a title ends within a secret. No part of the secret is shown.
func TestTitleCutInSecret(t *testing.T) {
	const secret = "Zx9SecretQ7"
	find := func(text []byte) (parts [][2]int) {
		if i := bytes.Index(text, []byte(secret)); i >= 0 {
			parts = append(parts, [2]int{i, i + len(secret)})
		}
		return parts
	}
	for before := 240; before < 260; before++ {
		s := screen.New(20, 3)
		s.Hide(find)
		s.Write([]byte("\x1b]2;" + strings.Repeat("p", before) + secret + "\x07"))
		want := (strings.Repeat("p", before) + strings.Repeat("*", len(secret)))[:min(before+len(secret), 256)]
		if got := s.Snapshot().Title; got != want {
			t.Errorf("the title with a secret after %d bytes ends with %q, want %q", before, got[240:], want[240:])
		}
		s.Cover(find)
		s.Hide(nil)
		if got := s.Snapshot().Title; got != want {
			t.Errorf("the covered title with a secret after %d bytes ends with %q, want %q", before, got[240:], want[240:])
		}
	}
}
