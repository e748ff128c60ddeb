package jsonrpc

import (
	"bytes"
	"strings"
	"testing"
)

// A value that shares memory has the same content as a copy, and allocates nothing.
func TestShared(t *testing.T) {
	for _, s := range []string{"", "x", "\x00\xff", strings.Repeat("text", 1<<16)} {
		if got := Text([]byte(s)); got != s {
			t.Errorf("Text: %d bytes, or others; want %d", len(got), len(s))
		}
		if got := Bytes(s); !bytes.Equal(got, []byte(s)) {
			t.Errorf("Bytes: %d bytes, or others; want %d", len(got), len(s))
		}
	}
	if got := Text(nil); got != "" {
		t.Errorf("Text(nil) = %q", got)
	}
	text := strings.Repeat("text", 1<<16)
	if n := testing.AllocsPerRun(10, func() { text = Text(Bytes(text)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
