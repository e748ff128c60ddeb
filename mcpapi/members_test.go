package mcpapi

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzSplit compares split with package encoding/json's own reading of an object.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{
		`{}`, ` { } `, `{"a":1}`, `{ "a" : [ 1 , {"b":"}"} ] , "c\\u0031\\"": "x\\\\" }`, `{"a":null,"b":true,"a":-1.5e9}`, "{\"\xff\":{},\"\":[[]]}", `{"a":"\\\\","b":"]"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		text = bytes.TrimLeft(text, jsonSpace)
		if len(text) == 0 || text[0] != '{' || !json.Valid(text) {
			return
		}
		dec := json.NewDecoder(bytes.NewReader(text))
		if _, err := dec.Token(); err != nil {
			t.Fatal(err)
		}
		for i, m := range split(text) {
			name, err := dec.Token()
			if err != nil || name != m.name {
				t.Fatalf("member %d of %q is %q, want %q (%v)", i, text, m.name, name, err)
			}
			var value json.RawMessage
			if err := dec.Decode(&value); err != nil || !bytes.Equal(value, m.value) {
				t.Fatalf("member %q of %q is %q, want %q (%v)", m.name, text, m.value, value, err)
			}
		}
		if dec.More() {
			t.Fatalf("%q has more members than %v", text, split(text))
		}
	})
}
