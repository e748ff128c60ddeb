package mcpapi

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"ptyctl/mcpapi/mcpgo"
	"ptyctl/mcpapi/toolset"
)

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
		return mcpgo.Error(mcp.INTERNAL_ERROR, err.Error()), true
	}
	done(result)
	return mcp.JSONRPCResponse{JSONRPC: mcp.JSONRPC_VERSION, Result: result}, true
}

// HandleMessage answers a message as mcp-go does. The error about an unknown tool names the tool that is meant, where
// its name says so.
func (s *Server) HandleMessage(ctx context.Context, message json.RawMessage) mcp.JSONRPCMessage {
	answer := s.MCPServer.HandleMessage(ctx, message)
	if name, ok := mcpgo.UnknownTool(answer); ok {
		if text := s.UnknownTool(ctx, name); text != "" {
			return mcpgo.Error(mcp.INVALID_PARAMS, text)
		}
	}
	return answer
}

// UnknownTool returns the error about a tool that the caller is not offered: it names the one that is meant. It returns
// "" where the name does not say that.
func (s *Server) UnknownTool(ctx context.Context, name string) string { return s.api.noTool(ctx, name) }

// readCall takes the parameters of a call apart, and finds its tool.
func (s *api) readCall(params json.RawMessage) (t calledTool, r request, ok bool) {
	c, ok := mcpgo.ReadCall(params)
	if ok {
		t, ok = s.tools[c.Name]
	}
	return t, request{arguments: c.Arguments, progress: c.Progress}, ok
}

// handler answers the calls of a tool that come by way of mcp-go.
func (s *api) handler(set *toolset.Set, t *toolset.Tool) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ctx, done := mcpgo.ToolContext(ctx)
		defer done()
		raw, err := mcpgo.Arguments(req)
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
