package tty

import (
	"bytes"
	"strings"
	"testing"
)

// TestWithoutReturns: the CR before an LF is left out, wherever the output is cut, and no other.
func TestWithoutReturns(t *testing.T) {
	const output = "one\r\ntwo\r\r\n10%\r20%\r\n\n\r\x1b[mend\r\n"
	const want = "one\ntwo\r\n10%\r20%\n\n\r\x1b[mend\n"
	for size := 1; size <= len(output); size++ {
		var got bytes.Buffer
		w := &withoutReturns{w: &got}
		for rest := output; rest != ""; rest = rest[min(size, len(rest)):] {
			piece := rest[:min(size, len(rest))]
			if n, err := w.Write([]byte(piece)); n != len(piece) || err != nil {
				t.Fatalf("Write(%q) = %d, %v", piece, n, err)
			}
		}
		if got.String() != want {
			t.Errorf("in pieces of %d: %q, want %q", size, got.String(), want)
		}
	}
	var file strings.Builder
	if w := WithoutReturns(&file, nil); w != &file {
		t.Errorf("the writer to a file is %T, want the file itself", w)
	}
}
