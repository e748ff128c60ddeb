package jsonrpc

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

// A content has the same text in each of its forms, and an empty one is zero, so that results leave it out.
func TestContent(t *testing.T) {
	for want, c := range map[string]Content{
		"":                 TextContent(""),
		"a \"text\"\n":     TextContent("a \"text\"\n"),
		"YSAidGV4dCIK":     BinaryContent([]byte("a \"text\"\n")),
		"AA==":             BinaryContent([]byte{0}),
		"/////////////w==": BinaryContent(bytes.Repeat([]byte{0xff}, 10)),
	} {
		var b bytes.Buffer
		b.WriteString("before ")
		c.Quote(&b)
		var quoted, marshaled string
		text, err := json.Marshal(c)
		if err == nil {
			err = json.Unmarshal(text, &marshaled)
		}
		if err == nil {
			err = json.Unmarshal(bytes.TrimPrefix(b.Bytes(), []byte("before ")), &quoted)
		}
		var back Content
		if err == nil {
			err = json.Unmarshal(text, &back)
		}
		if err != nil || c.String() != want || marshaled != want || quoted != want || back.String() != want {
			t.Errorf("%q: String = %q, MarshalText = %q, Quote = %q, UnmarshalText = %q, %v", want, c.String(), marshaled, quoted, back.String(), err)
		}
	}
	if c := BinaryContent([]byte{}); !reflect.ValueOf(c).IsZero() {
		t.Errorf("no bytes are %+v, want the zero value", c)
	}
}
