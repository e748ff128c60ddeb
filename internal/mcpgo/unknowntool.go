package mcpgo

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/mcpapi/jsonrpc"
)

// mcp-go answers the call of a tool that it does not know with "tool 'x' not found: tool not found".
const (
	toolError = "tool '"
	saidTwice = "' not found: tool not found"
	toldOnce  = "' not found; tools/list shows the tools"
)

// unknownTool shortens an error that mcp-go states twice, and adds advice. It leaves other errors as they are.
func unknownTool(e *mcp.JSONRPCErrorDetails) (changed bool) {
	if e.Code != mcp.INVALID_PARAMS || !strings.HasPrefix(e.Message, toolError) {
		return false
	}
	said, ok := strings.CutSuffix(e.Message, saidTwice)
	if ok {
		e.Message = said + toldOnce
	}
	return ok
}

// UnknownTool returns the name of the tool that does not exist, if mcp-go's answer says that.
func UnknownTool(answer mcp.JSONRPCMessage) (name string, ok bool) {
	e, ok := answer.(mcp.JSONRPCError)
	if !ok || e.Error.Code != mcp.INVALID_PARAMS {
		return "", false
	}
	name, ok = strings.CutPrefix(e.Error.Message, toolError)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(name, saidTwice)
}

// The frame of an event as mcp-go writes it, in one piece.
const (
	eventBegin = "event: message\ndata: "
	eventEnd   = "\n\n"
)

// longestError is how long an answer may be to be looked at as an error, in bytes. A result may be many times as long.
const longestError = 64 << 10

// Reword returns an answer that mcp-go has written with an error in better words: those that better has for the name of an
// unknown tool, or plain ones where it has none or is nil, and plain ones for params of a wrong type. Any other answer is
// returned as it is. An answer may be an event of a stream.
func Reword(answer []byte, better func(tool string) string) []byte {
	if len(answer) > longestError || !bytes.Contains(answer, []byte(saidTwice)) && !bytes.Contains(answer, []byte(unreadable)) {
		return answer // as nearly all
	}
	if data, ok := bytes.CutPrefix(answer, []byte(eventBegin)); ok {
		if data, ok = bytes.CutSuffix(data, []byte(eventEnd)); ok {
			line := bytes.TrimSuffix(Reword(data, better), []byte("\n"))
			return slices.Concat([]byte(eventBegin), line, []byte(eventEnd))
		}
	}
	var e struct {
		JSONRPC string                   `json:"jsonrpc"`
		ID      json.RawMessage          `json:"id"`
		Error   *mcp.JSONRPCErrorDetails `json:"error"`
	}
	if json.Unmarshal(answer, &e) != nil || e.Error == nil {
		return answer
	}
	said := ""
	if name, ok := UnknownTool(mcp.JSONRPCError{Error: *e.Error}); ok && better != nil {
		said = better(name)
	}
	switch {
	case said != "":
		e.Error.Message = said
	case unknownTool(e.Error), unreadableParams(e.Error):
	default:
		return answer
	}
	line, err := jsonrpc.EncodeLine(e)
	if err != nil {
		return answer
	}
	return line
}
