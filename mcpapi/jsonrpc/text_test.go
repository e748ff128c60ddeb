package jsonrpc

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// texts have special characters, to try at each place in a long text.
var texts = []string{
	"", "plain", `a "quote" and a \`, "line\r\n\ttab", "\x00\x1f\x7f", "äöü€😀", "\u2028\u2029", "\xff\xfe", "\xed\xa0\x80", "<&>",
}

// find finds each special byte at each place, and one that is not ASCII if it is to, and no other byte.
func TestFind(t *testing.T) {
	for n := range 72 {
		for at := range n {
			for c := range 256 {
				text := bytes.Repeat([]byte{'0' + byte(n)%10}, n)
				text[at] = byte(c)
				want := n
				if c < ' ' || c == '"' || c == '\\' || c >= 0x80 {
					want = at
				}
				if got := find(text, top); got != want {
					t.Fatalf("find(%q, top) = %d, want %d", text, got, want)
				}
				text = bytes.Repeat([]byte{0x80 | byte(n)}, n)
				text[at] = byte(c)
				want = n
				if c < ' ' || c == '"' || c == '\\' {
					want = at
				}
				if got := special(text); got != want {
					t.Fatalf("special(%q) = %d, want %d", text, got, want)
				}
				if at > 0 {
					text[n-1] = '"' // behind another one, or the same
					if got := special(text); got != min(want, n-1) {
						t.Fatalf("special(%q) = %d, want %d", text, got, min(want, n-1))
					}
				}
			}
		}
	}
}

func FuzzUnquoted(f *testing.F) {
	for _, s := range append(texts, `\u00e4\uD83D\ude00\ud83dx\ude00\ud83d\u0041\ud83d\n`, `\"\\\/\b\f\n\r\t`) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, s []byte) {
		quoted := []byte(`"` + string(s) + `"`)
		var want string
		if json.Unmarshal(quoted, &want) != nil {
			return
		}
		if got := Unquoted(quoted); got != want {
			t.Errorf("Unquoted(%q) = %q, want %q", quoted, got, want)
		}
		if got := UnquotedShared(quoted); got != want {
			t.Errorf("UnquotedShared(%q) = %q, want %q", quoted, got, want)
		}
		if n := stringLength(append(quoted, `,"x"`...)); n != len(quoted) {
			t.Errorf("stringLength(%q) = %d, want %d", quoted, n, len(quoted))
		}
	})
}

func FuzzQuote(f *testing.F) {
	for _, s := range texts {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, s := range []string{s, "plain" + s + "plain text" + s} {
			var got, want bytes.Buffer
			Quote(&got, s)
			if encode(&want, s); got.String() != want.String() {
				t.Errorf("Quote(%q) = %s, want %s", s, &got, &want)
			}
		}
	})
}

// BenchmarkText compares this package with encoding/json ("old"), on large strings.
func BenchmarkText(b *testing.B) {
	for name, text := range map[string]string{
		"base64": strings.Repeat("ZXJyCgZXJyCgAAAA", 1<<16),
		"lines":  strings.Repeat("drwxr-xr-x 2 root root 4096 Nov 28 13:49 packaging\n", 1<<14),
	} {
		quoted, err := json.Marshal(text)
		if err != nil {
			b.Fatal(err)
		}
		var s string
		var buffer bytes.Buffer
		for _, way := range []struct {
			name     string
			old, new func()
		}{
			{"Valid", func() { json.Valid(quoted) }, func() { Valid(quoted) }},
			{"Unquoted", func() { _ = json.Unmarshal(quoted, &s) }, func() { s = Unquoted(quoted) }},
			{"Quote", func() { encode(&buffer, text); buffer.Reset() }, func() { Quote(&buffer, text); buffer.Reset() }},
		} {
			for which, f := range map[string]func(){"old": way.old, "new": way.new} {
				b.Run(way.name+"/"+name+"/"+which, func(b *testing.B) {
					b.SetBytes(int64(len(quoted)))
					for b.Loop() {
						f()
					}
				})
			}
		}
	}
}

// TestHalfPair: half of a surrogate pair is found, however it is written, and nothing else is.
func TestHalfPair(t *testing.T) {
	for text, want := range map[string]string{
		`"\ud83d"`:                           `\ud83d`,
		`"a\uD83Dx\n"`:                       `\uD83D`,
		`"\ude00\ud83d"`:                     `\ude00`,
		`"\ud83d\ude00\udfff"`:               `\udfff`,
		`["a","\u0041\ud83d\u0041"]`:         `\ud83d`,
		`"\\\ud83d"`:                         `\ud83d`,
		`{"a":"\ud83d\ude00 \ufffd \u00e4"}`: "",
		`"\\ud83d"`:                          "",
		`"\\\\ud83d and \\u"`:                "",
		`"plain \n\t text"`:                  "",
		`7`:                                  "",
	} {
		if got := HalfPair([]byte(text)); got != want {
			t.Errorf("HalfPair(%s) = %q, want %q", text, got, want)
		}
	}
}
