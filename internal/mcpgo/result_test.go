package mcpgo

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

// A result is the same after it was written and read again.
func TestReadResult(t *testing.T) {
	for name, r := range map[string]*mcp.CallToolResult{
		"text":       {Content: []mcp.Content{mcp.NewTextContent("a \"b\" \u2028 <ü>\n")}},
		"error":      {Content: []mcp.Content{mcp.NewTextContent("")}, IsError: true},
		"structured": {Content: []mcp.Content{mcp.NewTextContent(`{"a":1}`)}, StructuredContent: Object(`{"a":1}`)},
		"image":      {Content: []mcp.Content{mcp.NewImageContent("AAAA", "image/png")}},
		"question":   {Content: []mcp.Content{mcp.NewTextContent("x")}, MultiRoundTripResult: mcp.MultiRoundTripResult{RequestState: "s"}},
	} {
		line, err := EncodeAnswer(json.RawMessage("1"), mcp.JSONRPCResponse{JSONRPC: "2.0", Result: r})
		if err != nil {
			t.Fatal(err)
		}
		var answer struct{ Result json.RawMessage }
		if err := json.Unmarshal(line, &answer); err != nil {
			t.Fatal(err)
		}
		got, err := ReadResult(answer.Result)
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("%s: %s is read as %+v, %v; want %+v", name, answer.Result, got, err, r)
		}
	}
	for _, text := range []string{"", "{", "[]", `{"content":1}`, `{"content":[{"type":"text","text":1}]}`} {
		if r, err := ReadResult(json.RawMessage(text)); err == nil {
			t.Errorf("%q is read as %+v", text, r)
		}
	}
}
