package jsonrpc

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// FuzzSplit compares Split with package encoding/json's own reading of an object.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{
		`{}`, ` { } `, `{"a":1}`, `{ "a" : [ 1 , {"b":"}"} ] , "c\\u0031\\"": "x\\\\" }`, `{"a":null,"b":true,"a":-1.5e9}`, "{\"\xff\":{},\"\":[[]]}", `{"a":"\\\\","b":"]"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		text = bytes.TrimLeft(text, Space)
		if len(text) == 0 || text[0] != '{' || !json.Valid(text) {
			return
		}
		dec := json.NewDecoder(bytes.NewReader(text))
		if _, err := dec.Token(); err != nil {
			t.Fatal(err)
		}
		for i, m := range Split(text) {
			name, err := dec.Token()
			if err != nil || name != m.Name {
				t.Fatalf("member %d of %q is %q, want %q (%v)", i, text, m.Name, name, err)
			}
			var value json.RawMessage
			if err := dec.Decode(&value); err != nil || !bytes.Equal(value, m.Value) {
				t.Fatalf("member %q of %q is %q, want %q (%v)", m.Name, text, m.Value, value, err)
			}
		}
		if dec.More() {
			t.Fatalf("%q has more members than %v", text, Split(text))
		}
	})
}

func TestPick(t *testing.T) {
	for message, says := range map[string]string{
		`{"method":"a","method":"b"}`:         `"method" is given twice`,
		`{"Method":"a"}`:                      `"Method" is not a member`,
		`{"method":"a","METHOD":"b"}`:         `"METHOD" is not a member`,
		"{\"param\u017f\":{}}":                "is not a member", // a long s, which encoding/json takes for an s
		`{"m\u0065thod":1,"params":{},"x":2}`: "",
	} {
		method, params := Want{Name: "method"}, Want{Name: "params"}
		err := Pick(json.RawMessage(message), &method, &params)
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", message, err, says)
		}
		if says == "" && (string(method.Value) != "1" || string(params.Value) != "{}") {
			t.Errorf("%s: %s, %s", message, method.Value, params.Value)
		}
	}
}
