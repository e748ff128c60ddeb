package vt_test

import (
	"testing"

	"ptyctl/vt"
)

// After a resize the whole terminal must scroll again.
func TestFilterResized(t *testing.T) {
	var f vt.Filter
	f.Append(nil, []byte("\x1b[?1049h\x1b[31m\x1b[2;9r"))
	if got, want := string(f.Resized(nil)), "\x1b7\x1b[r\x1b8"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := f.Resized(nil); len(got) > 0 {
		t.Errorf("twice: %q", got)
	}
	if got, want := string(f.Restore(nil)), "\x1b[?1049l\x1b[m"; got != want {
		t.Errorf("restored by %q, want %q", got, want)
	}
}
