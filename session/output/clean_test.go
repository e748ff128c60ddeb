package output_test

import (
	"testing"

	"ptyctl/session/output"
	"ptyctl/vt"
)

// An excerpt goes on with the line before it, and one that is empty repeats nothing of it.
func TestFirstLine(t *testing.T) {
	st := output.NewStream(1<<20, nil, nil)
	_, _ = st.Write([]byte("one\nerror: tw"))
	if got := string(st.Since(14, 100).FirstLine()); got != "" {
		t.Errorf("FirstLine without new output = %q, want none", got)
	}
	_, _ = st.Write([]byte("o\n"))
	if got := string(st.Since(13, 100).FirstLine()); got != "error: two\n" {
		t.Errorf("FirstLine = %q, want the whole line", got)
	}
}

// Sequences that the cut of an excerpt falls into are no text.
func TestExcerptCutInSequence(t *testing.T) {
	st := output.NewStream(1<<20, nil, nil)
	_, _ = st.Write([]byte("ab\x1b[31mmiddle middle\x1b[0;1mcd\n"))
	_ = st.Buffer.Close()
	o := st.Excerpt(12) // the head ends, and the tail begins, inside a colour
	for name, clean := range map[string]func() ([]byte, []byte, vt.Sanitized){
		"without colours": o.WithoutSGR,
		"clean":           func() ([]byte, []byte, vt.Sanitized) { return o.Clean(80) },
	} {
		head, tail, _ := clean()
		if string(head) != "ab" || string(tail) != "cd\n" {
			t.Errorf("%s: %q and %q cut from %q and %q; want ab and cd", name, head, tail, o.Head, o.Tail)
		}
	}
	o = st.Excerpt(100)
	if head, _, s := o.WithoutSGR(); string(head) != "abmiddle middlecd\n" || s != (vt.Sanitized{}) {
		t.Errorf("the whole = %q, %+v; want it without colours", head, s)
	}
}
