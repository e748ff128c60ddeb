package mcpgo

import (
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/mcpapi/jsonrpc"
)

// TellURI returns the answer to a resources/read with the URI that was asked for in its error's data, as MCP
// recommends for a resource that there is not (2026-07-28, server/resources, Error Handling); mcp-go sends no data.
// uri is JSON. Any other answer is returned as it is.
func TellURI(answer []byte, uri json.RawMessage) []byte {
	type errorDetails struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	var e struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *errorDetails   `json:"error"`
	}
	if len(uri) == 0 || uri[0] != '"' || json.Unmarshal(answer, &e) != nil || e.Error == nil || e.Error.Data != nil {
		return answer
	}
	if e.Error.Code != mcp.INVALID_PARAMS && e.Error.Code != mcp.RESOURCE_NOT_FOUND {
		return answer
	}
	data, err := jsonrpc.EncodeLine(struct {
		URI json.RawMessage `json:"uri"`
	}{uri})
	if err != nil {
		return answer
	}
	e.Error.Data = data
	line, err := jsonrpc.EncodeLine(e)
	if err != nil {
		return answer
	}
	return line
}

// URIOf returns the URI in the params of a resources/read, nil if they have none.
func URIOf(params json.RawMessage) json.RawMessage {
	var p struct {
		URI json.RawMessage `json:"uri"`
	}
	_ = json.Unmarshal(params, &p) // the answer reports bad params
	return p.URI
}
