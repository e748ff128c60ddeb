package screen_test

import (
	"bytes"
	"testing"

	"ptyctl/screen"
)

func TestMask(t *testing.T) {
	for _, tt := range []struct{ in, secret, want string }{
		{"ab secret", "secret", "ab ******"},
		{"012345secret x", "secret", "012345****|** x"}, // over the end of a row
		{"012345secr\r\net", "secret", "012345****|**"}, // two lines
		{"01234secr\r\net", "secret", "01234secr|et"},   // two lines, the first of which is not full
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
