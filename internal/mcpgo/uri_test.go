package mcpgo

import "testing"

func TestTellURI(t *testing.T) {
	const notFound = `{"jsonrpc":"2.0","id":"a<b","error":{"code":-32602,"message":"no such resource"}}`
	for _, tt := range []struct{ name, answer, uri, want string }{
		{"modern", notFound, `"ptyctl://x"`, `{"jsonrpc":"2.0","id":"a<b","error":{"code":-32602,"message":"no such resource","data":{"uri":"ptyctl://x"}}}` + "\n"},
		{"legacy", `{"jsonrpc":"2.0","id":7,"error":{"code":-32002,"message":"m"}}`, `"u"`, `{"jsonrpc":"2.0","id":7,"error":{"code":-32002,"message":"m","data":{"uri":"u"}}}` + "\n"},
		{"no text", notFound, `{"a":1}`, notFound},
		{"none", notFound, ``, notFound},
		{"a result", `{"jsonrpc":"2.0","id":1,"result":{}}`, `"u"`, `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{"another error", `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"m"}}`, `"u"`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"m"}}`},
		{"no JSON", `busy`, `"u"`, `busy`},
	} {
		if got := string(TellURI([]byte(tt.answer), []byte(tt.uri))); got != tt.want {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
}
