package mcpgo

import (
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/mcpapi/jsonrpc"
)

// ReadResult reads the result of a tools/call that EncodeAnswer has written, perhaps in another process. Its structured
// content is an Object. mcp-go reads such a text four times, which is most of what a large result costs.
func ReadResult(text json.RawMessage) (*mcp.CallToolResult, error) {
	if !jsonrpc.Valid(text) {
		return nil, fmt.Errorf("it is no JSON")
	}
	if r, ok := plainResult(text); ok {
		return r, nil
	}
	r := new(mcp.CallToolResult)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, err
	}
	if r.RawStructuredContent != nil {
		r.StructuredContent, r.RawStructuredContent = Object(r.RawStructuredContent), nil
	}
	return r, nil
}

// plainResult is ReadResult for what plainAnswer writes. It reports false for any other result.
func plainResult(text json.RawMessage) (*mcp.CallToolResult, bool) {
	if text[0] != '{' {
		return nil, false
	}
	r := new(mcp.CallToolResult)
	for _, m := range jsonrpc.Split(text) {
		switch {
		case m.Name == "content" && m.Value[0] == '[':
			for _, e := range jsonrpc.Elements(m.Value) {
				content, ok := plainText(e)
				if !ok {
					return nil, false
				}
				r.Content = append(r.Content, content)
			}
		case m.Name == "isError":
			r.IsError = string(m.Value) == "true"
		case m.Name == "resultType" && m.Value[0] == '"':
			r.ResultType = mcp.ResultType(jsonrpc.Unquoted(m.Value))
		case m.Name == "structuredContent" && m.Value[0] == '{':
			r.StructuredContent = Object(m.Value)
		default:
			return nil, false
		}
	}
	return r, len(r.Content) > 0
}

// plainText reads a block of text that has nothing else.
func plainText(text json.RawMessage) (c mcp.TextContent, ok bool) {
	if text[0] != '{' {
		return c, false
	}
	for _, m := range jsonrpc.Split(text) {
		switch {
		case m.Value[0] != '"':
			return c, false
		case m.Name == "type":
			c.Type = jsonrpc.Unquoted(m.Value)
		case m.Name == "text":
			c.Text = jsonrpc.Unquoted(m.Value)
		default:
			return c, false
		}
	}
	return c, c.Type == mcp.ContentTypeText
}
