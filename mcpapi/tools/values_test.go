package tools

import (
	"reflect"
	"strings"
	"testing"

	"ptyctl/session"
)

func TestHostMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, host string
		want          bool
	}{
		{"web1", "web1", true},
		{"WEB1", "web1", true},
		{"web", "web1", false},
		{"web1", "web1.example.net", false},
		{"web*", "web1", true},
		{"web*", "myweb1", false},
		{"*.example.net", "web1.example.net", true},
		{"*.example.net", "example.net", false},
		{"*web*", "myweb1", true},
		{"*web*", "mail", false},
		{"*", "anything", true},
		{"**", "anything", true},
		{"a*b", "axb", false},
		{"10.0.*", "10.0.3.4", true},
		{"*a", "a", true},
		{"a*", "a", true},
	} {
		if got := hostMatches(c.pattern, c.host); got != c.want {
			t.Errorf("%q and %q: %v", c.pattern, c.host, got)
		}
	}
}

func TestStreamOut(t *testing.T) {
	// More than the engine keeps of the start of a stream, so that a rune lies across the seam of its two parts.
	long := strings.Repeat("é", 40_000)
	tests := []struct {
		name     string
		in       session.Output
		text     string
		encoding string
		cut      *omitted
	}{
		{"nothing", session.Output{}, "", "", nil},
		{"text", session.Output{Head: []byte("abc"), Total: 3, TailStart: 3}, "abc", "", nil},
		{"in two parts", session.Output{Head: []byte("ab"), Tail: []byte("c"), Total: 3, TailStart: 2}, "abc", "", nil},
		{"a rune across the seam", session.Output{Head: []byte(long[:65_537]), Tail: []byte(long[65_537:]), Total: 80_000, TailStart: 65_537}, long, "", nil},
		{"cut", session.Output{Head: []byte("ab"), Tail: []byte("yz"), Total: 26, TailStart: 24}, "ab\n[... 22 bytes left out ...]\nyz", "", &omitted{At: 2, Bytes: 22, Cursor: "2"}},
		{"bytes", session.Output{Head: []byte("a\xff"), Total: 2, TailStart: 2}, "Yf8=", "base64", nil},
		{"bytes, cut", session.Output{Head: []byte("a\xff"), Tail: []byte("b"), Total: 9, TailStart: 8}, "Yf9i", "base64", &omitted{At: 2, Bytes: 6, Cursor: "2"}},
		{"NUL is text", session.Output{Head: []byte("a\x00"), Total: 2, TailStart: 2}, "a\x00", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, encoding, total, cut := streamOut(tt.in)
			if text != tt.text || encoding != tt.encoding || total != tt.in.Total || !reflect.DeepEqual(cut, tt.cut) {
				t.Errorf("got %.100q, %q, %d, %+v", text, encoding, total, cut)
			}
		})
	}
}
