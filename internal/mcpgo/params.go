package mcpgo

import (
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// mcp-go answers a request whose params it cannot read with the error of package encoding/json, which names types of Go:
// "unparsable tools/call request: json: cannot unmarshal number into Go struct field CallToolRequest.params.name of type
// string".
const (
	unreadable     = "unparsable "
	unreadableJSON = " request: json: cannot unmarshal "
)

// noToolName is the error about a tools/call that names no tool.
const noToolName = "params.name is missing; name the tool to call (tools/list shows the tools)"

// unreadableParams says in the words of JSON which value of a request has the wrong type. It leaves other errors as they
// are.
func unreadableParams(e *mcp.JSONRPCErrorDetails) (changed bool) {
	if e.Code != mcp.INVALID_REQUEST {
		return false
	}
	text, ok := strings.CutPrefix(e.Message, unreadable)
	method, text, ok2 := strings.Cut(text, unreadableJSON)
	if !ok || !ok2 {
		return false
	}
	given, text, _ := strings.Cut(text, " into Go ")
	given, _, _ = strings.Cut(given, " ") // of a number, its digits follow
	field, kind, _ := strings.Cut(text, " of type ")
	at := strings.Index(field+".", ".params.")
	switch {
	case at < 0, strings.HasPrefix(kind, "struct {"): // which value it is remains unsaid
		e.Message = method + ": its params have " + aKind(given) + " where another type belongs"
	default:
		e.Message = method + ": " + field[at+1:] + " must be " + wantedKind(kind) + ", not " + aKind(given)
	}
	if method == string(mcp.MethodToolsCall) {
		e.Message += `; send {"name":"...","arguments":{...}} with the name of a tool (tools/list shows them)`
	} else {
		e.Message += "; send the params that MCP has for this method"
	}
	return true
}

// aKind names a JSON type of package encoding/json.
func aKind(kind string) string {
	switch kind {
	case "bool":
		return "true or false"
	case "array", "object":
		return "an " + kind
	}
	return "a " + kind
}

// wantedKind names the JSON type of a Go type.
func wantedKind(kind string) string {
	kind = strings.TrimPrefix(kind, "*")
	switch {
	case kind == "string", kind == "mcp.Cursor", kind == "mcp.LoggingLevel":
		return "a string"
	case kind == "bool":
		return "true or false"
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"), strings.HasPrefix(kind, "float"):
		return "a number"
	case strings.HasPrefix(kind, "[]"):
		return "an array"
	}
	return "an object"
}
