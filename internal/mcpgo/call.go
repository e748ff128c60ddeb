package mcpgo

import (
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/mcpapi/jsonrpc"
)

// mcp-go reads a tools/call seven times before the tool has it: the message for its method, its protocol revision and
// its trace, the parameters twice, and the arguments into a map that no tool of ptyctl uses.

// A Call is a tools/call, taken apart.
type Call struct {
	Name      string
	Arguments json.RawMessage   // valid JSON; nil: none
	Progress  mcp.ProgressToken // nil: the client asks for no progress
}

// ReadCall takes the parameters of a tools/call apart, which must be valid JSON. It reports false for those that it
// leaves to mcp-go: malformed ones, and those of protocol revisions that name their client in each message.
func ReadCall(params json.RawMessage) (c Call, ok bool) {
	if len(params) == 0 || params[0] != '{' {
		return c, false
	}
	name, arguments, meta := jsonrpc.Want{Name: "name"}, jsonrpc.Want{Name: "arguments"}, jsonrpc.Want{Name: "_meta"}
	// A call with one of these three is left to mcp-go, which knows their meaning in each protocol revision: the answer
	// to a question, or a task that the call is part of.
	task, state := jsonrpc.Want{Name: "task"}, jsonrpc.Want{Name: "requestState"}
	answers := jsonrpc.Want{Name: "inputResponses"}
	if jsonrpc.Pick(params, &name, &arguments, &meta, &task, &state, &answers) != nil {
		return c, false
	}
	if name.Value == nil || name.Value[0] != '"' || task.Value != nil || state.Value != nil || answers.Value != nil {
		return c, false
	}
	c.Name = jsonrpc.Unquoted(name.Value)
	if string(arguments.Value) != "null" {
		c.Arguments = arguments.Value
	}
	if meta.Value == nil || string(meta.Value) == "null" {
		return c, true
	}
	progress, version := jsonrpc.Want{Name: "progressToken"}, jsonrpc.Want{Name: mcp.MetaKeyProtocolVersion}
	if meta.Value[0] != '{' || jsonrpc.Pick(meta.Value, &progress, &version) != nil || version.Value != nil {
		return c, false
	}
	if progress.Value != nil && json.Unmarshal(progress.Value, &c.Progress) != nil {
		return c, false
	}
	return c, true
}

// Arguments returns the arguments of a call that mcp-go has read; nil if it has none.
func Arguments(req mcp.CallToolRequest) (json.RawMessage, error) {
	if len(req.Params.RawArguments) > 0 && string(req.Params.RawArguments) != "null" {
		return req.Params.RawArguments, nil
	}
	if req.Params.Arguments == nil {
		return nil, nil
	}
	return json.Marshal(req.Params.Arguments)
}
