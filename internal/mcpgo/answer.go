package mcpgo

import (
	"bytes"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/mcpapi/jsonrpc"
)

// EncodeAnswer returns the line that answers the request id, as it was sent. mcp-go has read the id into a float64;
// its own text goes back here.
func EncodeAnswer(id json.RawMessage, answer mcp.JSONRPCMessage) ([]byte, error) {
	switch a := answer.(type) {
	case mcp.JSONRPCResponse:
		if line, ok := plainAnswer(id, a.Result); ok {
			return line, nil
		}
		a.ID = mcp.NewRequestId(id)
		line, err := jsonrpc.EncodeLine(a)
		return shorter(a.Result, line), err
	case mcp.JSONRPCError:
		a.ID = mcp.NewRequestId(id)
		_ = unknownTool(&a.Error) || unreadableParams(&a.Error)
		answer = a
	case nil:
		answer = mcp.JSONRPCError{JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(id), Error: mcp.NewJSONRPCErrorDetails(
			mcp.INTERNAL_ERROR, "the server has no answer to this request", nil)}
	}
	return jsonrpc.EncodeLine(answer)
}

// shorter returns the line of a result without its empty parts: mcp-go lists each tool without annotations with an
// empty object in their place, which costs a model context. In a JSON text only a member has that name in bare quotes.
func shorter(result any, line []byte) []byte {
	switch result.(type) {
	case mcp.ListToolsResult, *mcp.ListToolsResult:
		return bytes.ReplaceAll(line, []byte(`{"annotations":{},`), []byte("{"))
	}
	return line
}

// plainAnswer writes the answer that nearly all calls have: a text, and the same as structured content. mcp-go makes
// a map of a result, and has the structured content, which is JSON already, read and copied three times: most of what
// an answer with much output costs.
func plainAnswer(id json.RawMessage, result any) (line []byte, ok bool) {
	r, ok := result.(*mcp.CallToolResult)
	if !ok {
		return nil, false
	}
	text, structured, ok := plain(r)
	if !ok {
		return nil, false
	}
	b := lineBuffer(len(text)*9/8 + len(structured) + 128)
	b.WriteString(`{"jsonrpc":"` + mcp.JSONRPC_VERSION + `","id":`)
	b.Write(id)
	b.WriteString(`,"result":`)
	writePlain(b, r, text, structured)
	b.WriteString("}\n")
	return b.Bytes(), true
}

// EncodeResult returns a result without the rest of an answer, for another node. It reports false for one that only
// EncodeAnswer can write.
func EncodeResult(r *mcp.CallToolResult) (json.RawMessage, bool) {
	text, structured, ok := plain(r)
	if !ok {
		return nil, false
	}
	var b bytes.Buffer
	b.Grow(len(text)*9/8 + len(structured) + 128)
	writePlain(&b, r, text, structured)
	return b.Bytes(), true
}

// plain returns the parts of a result that has only a text, and the same as structured content.
func plain(r *mcp.CallToolResult) (text string, structured Object, ok bool) {
	if r.Meta != nil || len(r.InputRequests) > 0 || r.RequestState != "" || len(r.RawStructuredContent) > 0 ||
		len(r.Content) != 1 {
		return "", nil, false
	}
	content, ok := r.Content[0].(mcp.TextContent)
	if !ok || content.Meta != nil || content.Annotations != nil {
		return "", nil, false
	}
	structured, ok = r.StructuredContent.(Object)
	return content.Text, structured, ok || r.StructuredContent == nil
}

// writePlain writes a result from the parts that plain has returned.
func writePlain(b *bytes.Buffer, r *mcp.CallToolResult, text string, structured Object) {
	b.WriteString(`{"content":[{"type":"text","text":`)
	jsonrpc.Quote(b, text)
	b.WriteString("}]")
	if r.IsError {
		b.WriteString(`,"isError":true`)
	}
	if r.ResultType != "" {
		b.WriteString(`,"resultType":`)
		jsonrpc.Quote(b, string(r.ResultType))
	}
	if structured != nil {
		b.WriteString(`,"structuredContent":`)
		b.Write(structured)
	}
	b.WriteByte('}')
}

// An Object is a JSON object without line ends, as this package has encoded it.
type Object json.RawMessage

// MarshalJSON implements json.Marshaler.
func (o Object) MarshalJSON() ([]byte, error) { return o, nil }

// NewObject returns the JSON object that another package has made.
func NewObject(text json.RawMessage) (Object, error) {
	var b bytes.Buffer
	err := json.Compact(&b, text)
	return b.Bytes(), err
}

// Error is an error answer that has no id yet.
func Error(code int, text string) mcp.JSONRPCError {
	return mcp.JSONRPCError{JSONRPC: mcp.JSONRPC_VERSION, Error: mcp.JSONRPCErrorDetails{Code: code, Message: text}}
}
