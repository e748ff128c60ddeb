package mcpgo

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// A server with input validation must accept no unchecked call: the validator is not linked.
func TestValidatorIsNotLinked(t *testing.T) {
	s := server.NewMCPServer("test", "1", server.WithToolCapabilities(false), server.WithInputSchemaValidation())
	called := false
	s.AddTool(mcp.NewTool("echo", mcp.WithString("text", mcp.Required())),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			called = true
			return mcp.NewToolResultText("done"), nil
		})
	answer, err := json.Marshal(s.HandleMessage(t.Context(),
		[]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}`)))
	if err != nil || called || !strings.Contains(string(answer), "not linked") {
		t.Errorf("the call is answered with %s (%v), and made: %t; want that it is refused", answer, err, called)
	}
}
