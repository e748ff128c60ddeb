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
	all := []jsonrpc.Content{{}}
	for _, text := range []string{"short\n", strings.Repeat("a \"line\"\r\n\t\\", 1<<14), strings.Repeat("äöü€😀", 1<<12)} {
		all = append(all, jsonrpc.TextContent(text))
	}
	for _, n := range []int{1, 1570, 1571, 1572, 1573, 1574, 1575, 1576, 1577, 1578, 1 << 20} {
		p := make([]byte, n)
		for i := range p {
			p[i] = byte(i * i)
		}
		all = append(all, jsonrpc.BinaryContent(p))
	}
	for _, data := range all {
		read := fsReadOut{Data: data, DataEncoding: "base64", Size: 1 << 30, NextOffset: 7, Truncated: true, Warnings: []string{"w"}}
		want, got := decode(&read), decode(read.Excerpt())
		want.Data = jsonrpc.TextContent(jsonrpc.Excerpt(want.Data.String()))
		if w, g := asJSON(t, want), asJSON(t, got); w != g {
			t.Errorf("the excerpt of a read of %d characters = %s, want %s", len(data.String()), g, w)
		}
		if read.Data.String() != data.String() {
			t.Errorf("the read of %d characters has changed with its excerpt", len(data.String()))
		}
	}
}

// The compact form and the text form of a read have its data; the first leaves an empty one out.
func TestReadForms(t *testing.T) {
	for _, tt := range []struct {
		data          jsonrpc.Content
		encoding      string
		compact, text string
	}{
		{jsonrpc.TextContent("a \"line\"\n"), "utf-8", `{"data":"a \"line\"\n"}`, "[done]\na \"line\"\n"},
		{jsonrpc.BinaryContent([]byte("\xff")), "base64", `{"data":"/w==","data_encoding":"base64"}`, "[data_encoding \"base64\"]\n/w=="},
		{jsonrpc.BinaryContent(nil), "base64", `{"data_encoding":"base64"}`, "[data_encoding \"base64\"]\n"},
	} {
		read := fsReadOut{Action: "read", Data: tt.data, DataEncoding: tt.encoding, Size: 9, NextOffset: 9, Mode: "0644"}
		for form, made := range map[string]func(any) ([]byte, error){tt.compact: wire.Compact, tt.text: wire.Text} {
			if got, err := made(&read); err != nil || string(got) != form {
				t.Errorf("a read has the form %s, %v, want %s", got, err, form)
			}
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
