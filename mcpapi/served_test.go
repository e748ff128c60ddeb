package mcpapi

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/internal/mcpgo"
	"ptyctl/mcpapi/peers"
)

// TestSimpleCall: a call of another node is the same as when it is read from the message of a client.
func TestSimpleCall(t *testing.T) {
	for _, arguments := range []string{"", "null", "{}", `{"a":"<\u00e4>"}`, "[1]", `"text"`} {
		for _, progress := range []bool{false, true} {
			for _, client := range []peers.Program{{}, {Name: "a", Version: "1", Revision: "2025-06-18", Capabilities: json.RawMessage("{}")}} {
				call := peers.Call{Tool: "ptyctl_session", Arguments: json.RawMessage(arguments), Progress: progress, Client: client}
				params, _, err := paramsOf(call)
				if err != nil {
					t.Fatal(err)
				}
				want, ok := mcpgo.ReadCall(params)
				if !ok {
					t.Fatalf("%s is not read", params)
				}
				got, ok := simpleCall(call)
				if !ok || got.Name != want.Name || !reflect.DeepEqual(got.Progress, want.Progress) ||
					!bytes.Equal(escaped(t, got.Arguments), escaped(t, want.Arguments)) {
					t.Errorf("%+v is read as %+v, %t; want %+v", call, got, ok, want)
				}
			}
		}
	}
	for _, call := range []peers.Call{
		{}, {URI: "ptyctl://sessions"}, {URI: "ptyctl://sessions", Watch: true}, {Tool: "a", Trip: json.RawMessage(`{"requestState":"s"}`)},
		{Tool: "a", Client: peers.Program{Stateless: true}},
	} {
		if got, ok := simpleCall(call); ok {
			t.Errorf("%+v is read as %+v", call, got)
		}
	}
}

// escaped returns arguments as package encoding/json writes them.
func escaped(t *testing.T, arguments json.RawMessage) []byte {
	t.Helper()
	if arguments == nil {
		return nil
	}
	text, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestEncodeResultOfServed: a result encoded by hand for another node is the same as the result in a response.
func TestEncodeResultOfServed(t *testing.T) {
	for _, r := range []*mcp.CallToolResult{
		{Content: []mcp.Content{mcp.NewTextContent("a \"b\" \u2028 <ü>\n\xff")}},
		{Content: []mcp.Content{mcp.NewTextContent("")}, IsError: true, Result: mcp.Result{ResultType: "complete"}},
		{Content: []mcp.Content{mcp.NewTextContent(`{"a":1}`)}, StructuredContent: mcpgo.Object(`{"a":1}`)},
		{Content: []mcp.Content{mcp.NewTextContent("a")}, Result: mcp.Result{Meta: &mcp.Meta{AdditionalFields: map[string]any{"a": 1}}}},
	} {
		want, err := resultOf(mcp.JSONRPCResponse{JSONRPC: mcp.JSONRPC_VERSION, Result: r})
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := mcpgo.EncodeResult(withoutMeta(r)); !ok || !bytes.Equal(got, want) {
			t.Errorf("%+v is written as %s, %t; want %s", r, got, ok, want)
		}
	}
}
