package mcpgo

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/mcpapi/jsonrpc"
)

// ReadResult reads the result of a tools/call that EncodeAnswer has written, perhaps in another process. Its structured
// content is an Object. mcp-go reads such a text four times, which is most of the cost of a large result.
func ReadResult(text json.RawMessage) (*mcp.CallToolResult, error) {
	if !jsonrpc.Valid(text) {
		return nil, fmt.Errorf("it is no JSON")
	}
	if bytes.ContainsAny(text, "\n\r") { // an Object has none: on stdio, the rest would be another message
		var b bytes.Buffer
		if err := json.Compact(&b, text); err != nil {
			return nil, err
		}
		text = b.Bytes()
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

// plainResult is ReadResult for the output of plainAnswer. It reports false for any other result.
func plainResult(text json.RawMessage) (*mcp.CallToolResult, bool) {
	if text[0] != '{' {
		return nil, false
	}
	if r, ok := plainestResult(text); ok {
		return r, true
	}
	r := new(mcp.CallToolResult)
	seen := 0
	once := func(bit int) bool { // of a member that is given twice package encoding/json makes something
		first := seen&(1<<bit) == 0
		seen |= 1 << bit
		return first
	}
	for name, value := range jsonrpc.Each(text) {
		ok := false
		switch string(name) {
		case `"content"`:
			r.Content, ok = plainContent(value)
			ok = ok && once(0)
		case `"isError"`:
			r.IsError = value[0] == 't'
			ok = (value[0] == 't' || value[0] == 'f') && once(1)
		case `"resultType"`:
			if ok = value[0] == '"' && once(2); ok {
				r.ResultType = mcp.ResultType(jsonrpc.Unquoted(value))
			}
		case `"structuredContent"`:
			r.StructuredContent = Object(value)
			ok = value[0] == '{' && once(3)
		}
		if !ok {
			return nil, false
		}
	}
	return r, len(r.Content) > 0
}

// plainestResult is plainResult for an answer without a failure. It reads each part once.
func plainestResult(text json.RawMessage) (*mcp.CallToolResult, bool) {
	const head, more = `{"content":[{"type":"text","text":`, `}],"structuredContent":`
	rest, ok := bytes.CutPrefix(text, []byte(head))
	if !ok || rest[0] != '"' {
		return nil, false
	}
	n := jsonrpc.Length(rest)
	quoted, rest := rest[:n], rest[n:]
	r := new(mcp.CallToolResult)
	if structured, ok := bytes.CutPrefix(rest, []byte(more)); ok && structured[0] == '{' {
		n := jsonrpc.Length(structured)
		r.StructuredContent, rest = Object(structured[:n:n]), structured[n:]
	} else if rest, ok = bytes.CutPrefix(rest, []byte("}]")); !ok {
		return nil, false
	}
	if string(rest) != "}" {
		return nil, false
	}
	r.Content = []mcp.Content{mcp.TextContent{Type: mcp.ContentTypeText, Text: jsonrpc.Unquoted(quoted)}}
	return r, true
}

// plainContent reads blocks of text that have nothing else.
func plainContent(array json.RawMessage) (all []mcp.Content, ok bool) {
	if array[0] != '[' {
		return nil, false
	}
	for _, e := range jsonrpc.Elements(array) {
		content, ok := plainText(e)
		if !ok {
			return nil, false
		}
		all = append(all, content)
	}
	return all, true
}

// plainText reads a block of text that has nothing else.
func plainText(text json.RawMessage) (c mcp.TextContent, ok bool) {
	if text[0] != '{' {
		return c, false
	}
	texts := 0
	for name, value := range jsonrpc.Each(text) {
		switch {
		case string(name) == `"type"` && string(value) == `"text"` && c.Type == "":
			c.Type = mcp.ContentTypeText
		case string(name) == `"text"` && value[0] == '"' && texts == 0:
			c.Text = jsonrpc.Unquoted(value)
			texts++
		default:
			return c, false
		}
	}
	return c, c.Type != ""
}
