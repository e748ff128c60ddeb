package mcpapi

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"ptyctl/mcpapi/jsonrpc"
	"ptyctl/mcpapi/toolset"
)

// mcp-go reads a tools/call seven times before the tool has it: the message for its method, its protocol revision and
// its trace, the parameters twice, and the arguments into a map that no tool of this package uses. This file bypasses
// that: a call is split once, and its arguments go straight into the tool's struct.

// Answer answers a tools/call with the parameters params, which must be valid JSON. It reports false, and has done
// nothing, for all messages that it leaves to mcp-go: calls of unknown tools, malformed calls, and calls of protocol
// revisions that name their client in each message.
func (s *Server) Answer(ctx context.Context, id, params json.RawMessage) (answer mcp.JSONRPCMessage, ok bool) {
	t, r, ok := s.api.readCall(params)
	if !ok {
		return nil, false
	}
	done := s.api.logCall(ctx, id, t.Name, r.arguments)
	result, err := s.api.answerCall(ctx, t, r)
	if err != nil {
		return jsonrpc.Error(mcp.INTERNAL_ERROR, err.Error()), true
	}
	done(result)
	return mcp.JSONRPCResponse{JSONRPC: mcp.JSONRPC_VERSION, Result: result}, true
}

// readCall takes the parameters of a call apart.
func (s *api) readCall(params json.RawMessage) (t calledTool, r request, ok bool) {
	if len(params) == 0 || params[0] != '{' {
		return t, r, false
	}
	name, arguments, meta := jsonrpc.Want{Name: "name"}, jsonrpc.Want{Name: "arguments"}, jsonrpc.Want{Name: "_meta"}
	task, state, answers := jsonrpc.Want{Name: "task"}, jsonrpc.Want{Name: "requestState"}, jsonrpc.Want{Name: "inputResponses"}
	if jsonrpc.Pick(params, &name, &arguments, &meta, &task, &state, &answers) != nil {
		return t, r, false
	}
	if name.Value == nil || name.Value[0] != '"' || task.Value != nil || state.Value != nil || answers.Value != nil {
		return t, r, false
	}
	if t, ok = s.tools[jsonrpc.Unquoted(name.Value)]; !ok {
		return t, r, false
	}
	if string(arguments.Value) != "null" {
		r.arguments = arguments.Value
	}
	if meta.Value == nil || string(meta.Value) == "null" {
		return t, r, true
	}
	progress, version := jsonrpc.Want{Name: "progressToken"}, jsonrpc.Want{Name: mcp.MetaKeyProtocolVersion}
	if meta.Value[0] != '{' || jsonrpc.Pick(meta.Value, &progress, &version) != nil || version.Value != nil {
		return t, r, false
	}
	if progress.Value != nil {
		ok = json.Unmarshal(progress.Value, &r.progress) == nil
	}
	return t, r, ok
}

// handler answers the calls of a tool that come by way of mcp-go.
func (s *api) handler(set *toolset.Set, t *toolset.Tool) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		raw, err := rawArguments(req)
		if err != nil {
			return nil, err
		}
		r := request{arguments: raw, trip: req.Params.MultiRoundTripParams}
		if req.Params.Meta != nil {
			r.progress = req.Params.Meta.ProgressToken
		}
		return s.answerCall(ctx, calledTool{set, t}, r)
	}
}

func rawArguments(req mcp.CallToolRequest) (json.RawMessage, error) {
	if len(req.Params.RawArguments) > 0 && string(req.Params.RawArguments) != "null" {
		return req.Params.RawArguments, nil
	}
	if req.Params.Arguments == nil {
		return nil, nil
	}
	return json.Marshal(req.Params.Arguments)
}
