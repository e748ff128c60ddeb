package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func FuzzValid(f *testing.F) {
	for _, s := range append(texts, `\u00e4\ud83d\ude00\ud83d`, `\u12"`, `\x`, `\`, `",1`) {
		f.Add(7, []byte(`{"a":"`), []byte(s), []byte(`"}`))
		f.Add(1000, []byte(`{"a":"`), []byte(s), []byte(`","b":[1,"x"]}`))
		f.Add(0, []byte(`{"a":"`), []byte(s), []byte(`","b":[1,"x`))
	}
	for _, s := range []string{
		`0`, `-`, `-0`, `01`, `1.`, `.5`, `1.5e`, `1E+7`, `-1e-0`, `1e+-1`, `true`, `tru`, `nul`, `falsey`, ` [ ] `, `[,]`, `[1,]`, `[1 2]`, `{}`, `{,}`,
		`{"a"}`, `{"a":}`, `{"a":1,}`, `{ "a" : [ { } , null ] }`, `{a:1}`, `{"a":1 "b":2}`, `"`, `"\u00e"`, "\x00", "\v1", `[1]]`, `[1}`, `1 1`, ``,
	} {
		f.Add(0, []byte("["), []byte(s), []byte("]"))
		f.Add(0, []byte(`{"a":`), []byte(s), []byte("}"))
	}
	for _, n := range []int{deepest - 1, deepest, deepest + 1, 9998, 9999, 10000, 10001} { // json.Valid has a limit, too
		f.Add(0, bytes.Repeat([]byte("["), n), []byte{}, bytes.Repeat([]byte("]"), n))
		f.Add(0, bytes.Repeat([]byte(`{"":`), n), []byte("1"), bytes.Repeat([]byte("}"), n))
	}
	f.Fuzz(func(t *testing.T, many int, head, s, tail []byte) {
		// Long enough for the fast way.
		text := bytes.Join([][]byte{head, bytes.Repeat(s, 1+many&0xff), bytes.Repeat([]byte("x"), 1<<10), s, tail}, nil)
		for _, text := range [][]byte{text, s, append(slices.Clone(head), tail...), bytes.Join([][]byte{head, s, tail}, nil)} {
			if got, want := Valid(text), json.Valid(text); got != want {
				t.Errorf("Valid(%q) = %t, want %t", text, got, want)
			}
		}
	})
}

// TestTooDeep: only a text whose first fault is its depth is too deep.
func TestTooDeep(t *testing.T) {
	for text, want := range map[string]bool{
		strings.Repeat("[", Deepest) + strings.Repeat("]", Deepest):     false,
		strings.Repeat("[", Deepest+1) + strings.Repeat("]", Deepest+1): true,
		strings.Repeat(`{"[":`, Deepest+1):                              true,
		strings.Repeat(`[`, Deepest+1):                                  true,
		strings.Repeat(`[`, Deepest):                                    false,
		strings.Repeat(`[[],`, Deepest) + "[]":                          true,
		`{"a":"` + strings.Repeat("[", 2*Deepest):                       false,
		`{"a":"` + strings.Repeat("[", 2*Deepest) + `"`:                 false,
		`[,` + strings.Repeat("[", 2*Deepest):                           false,
		`{}`:                                                            false,
		``:                                                              false,
	} {
		if got := TooDeep([]byte(text)); got != want {
			t.Errorf("TooDeep(%.20q, of %d bytes) = %t, want %t", text, len(text), got, want)
		}
	}
}

// BenchmarkValid checks a small call and a large one, beside package encoding/json.
func BenchmarkValid(b *testing.B) {
	small := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ptyctl_session_io","arguments":` +
		`{"action":"read","session_id":"s-1@fra1","cursor":"0","timeout_ms":0,"max_bytes":256}}}`)
	large := []byte(`{"a":"` + string(bytes.Repeat([]byte(`a line of text\n`), 1<<12)) + `"}`)
	for _, text := range [][]byte{small, large} {
		for name, valid := range map[string]func([]byte) bool{"own": Valid, "json": json.Valid} {
			b.Run(fmt.Sprintf("%s/%d", name, len(text)), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					if !valid(text) {
						b.Fatal("not valid")
					}
				}
			})
		}
	}
}
