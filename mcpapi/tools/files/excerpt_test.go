package files

import (
	"encoding/json"
	"strings"
	"testing"

	"ptyctl/mcpapi/jsonrpc"
	"ptyctl/mcpapi/wire"
)

// A record of a read that is made of the excerpt is the one that is made of the result.
func TestReadExcerpt(t *testing.T) {
	decode := func(v any) (out fsReadOut) {
		text, err := wire.Compact(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, data := range []string{
		"", "short\n", strings.Repeat("a \"line\"\r\n\t\\", 1<<14), strings.Repeat("äöü€😀", 1<<12), jsonrpc.Base64(make([]byte, 1<<20)),
	} {
		read := fsReadOut{Data: data, DataEncoding: "base64", Size: 1 << 30, NextOffset: 7, Truncated: true, Warnings: []string{"w"}}
		want, got := decode(&read), decode(read.Excerpt())
		want.Data = jsonrpc.Excerpt(want.Data)
		if w, g := asJSON(t, want), asJSON(t, got); w != g {
			t.Errorf("the excerpt of a read of %d bytes = %s, want %s", len(data), g, w)
		}
		if read.Data != data {
			t.Errorf("the read of %d bytes has changed with its excerpt", len(data))
		}
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
