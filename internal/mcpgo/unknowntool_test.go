package mcpgo

import (
	"encoding/json"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

// The error about an unknown tool says so once, however mcp-go hands it on; text of a tool stays as it is.
func TestUnknownTool(t *testing.T) {
	const once = `{"jsonrpc":"2.0","id":"a","error":{"code":-32602,"message":"tool 'x' not found; tools/list shows the tools"}}` + "\n"
	for _, tt := range []struct{ name, answer, want string }{
		{"unknown", `{"jsonrpc":"2.0","id":"a","error":{"code":-32602,"message":"tool 'x' not found: tool not found"}}`, once},
		{
			"a result", `{"jsonrpc":"2.0","id":1,"result":{"text":"tool 'x' not found: tool not found"}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"text":"tool 'x' not found: tool not found"}}`,
		},
		{
			"another code", `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"tool 'x' not found: tool not found"}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"tool 'x' not found: tool not found"}}`,
		},
		{
			"another text", `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"y' not found: tool not found"}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"y' not found: tool not found"}}`,
		},
		{
			"an event", "event: message\ndata: " +
				`{"jsonrpc":"2.0","id":"a","error":{"code":-32602,"message":"tool 'x' not found: tool not found"}}` + "\n\n",
			"event: message\ndata: " + once + "\n",
		},
		{"no JSON", `' not found: tool not found`, `' not found: tool not found`},
	} {
		if got := string(Reword([]byte(tt.answer), func(string) string { return "" })); got != tt.want {
			t.Errorf("%s: Reword(%s) = %s, want %s", tt.name, tt.answer, got, tt.want)
		}
	}
	got, err := EncodeAnswer(json.RawMessage(`"a"`), Error(mcp.INVALID_PARAMS, "tool 'x' not found: tool not found"))
	if err != nil || string(got) != once {
		t.Errorf("EncodeAnswer of the error = %s, %v, want %s", got, err, once)
	}
}
