package mcpgo

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Params of a wrong type are refused in the words of JSON, on both ways to a client, and without names of Go.
func TestUnreadableParams(t *testing.T) {
	srv := &Server{MCPServer: server.NewMCPServer("x", "1", server.WithToolCapabilities(false), server.WithRecovery(),
		server.WithResourceCapabilities(true, false), server.WithPromptCapabilities(false), server.WithCompletions())}
	for _, tt := range []struct{ method, params, want string }{
		{"tools/call", `"x"`, `tools/call: params must be an object, not a string; send {"name":`},
		{"tools/call", `[1]`, "tools/call: params must be an object, not an array"},
		{"tools/call", `{"name":7.5}`, "tools/call: params.name must be a string, not a number"},
		{"tools/call", `{"name":true}`, "tools/call: params.name must be a string, not true or false"},
		{"tools/call", `{"name":"x","_meta":3}`, "tools/call: params._meta must be an object, not a number"},
		{"tools/call", `{"name":"x","task":3}`, "tools/call: params.task must be an object, not a number"},
		{"tools/call", `{}`, "params.name is missing; name the tool"},
		{"tools/list", `{"cursor":{}}`, "tools/list: params.cursor must be a string, not an object; send the params"},
		{"resources/read", `{"uri":3}`, "resources/read: params.uri must be a string, not a number"},
		{"prompts/get", `{"name":"x","arguments":[]}`, "prompts/get: params.arguments must be an object, not an array"},
		{"completion/complete", `{"ref":3}`, "completion/complete: its params have a number where another type belongs"},
		{"completion/complete", `3`, "completion/complete: its params have a number where another type belongs"},
	} {
		answer := srv.HandleMessage(t.Context(), json.RawMessage(
			`{"jsonrpc":"2.0","id":1,"method":"`+tt.method+`","params":`+tt.params+`}`))
		plain, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		line, err := EncodeAnswer(json.RawMessage("1"), answer)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{string(line), string(Reword(plain, nil))} {
			var e mcp.JSONRPCError
			if err := json.Unmarshal([]byte(text), &e); err != nil {
				t.Fatal(err)
			}
			if got := e.Error.Message; !strings.HasPrefix(got, tt.want) || strings.Contains(got, "Go ") {
				t.Errorf("%s of %s: %q, want %q", tt.method, tt.params, got, tt.want)
			}
		}
	}
}
