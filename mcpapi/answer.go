package mcpapi

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"ptyctl/internal/inorder"
	"ptyctl/internal/mcpgo"
	"ptyctl/mcpapi/apps"
	"ptyctl/mcpapi/internal/subject"
	"ptyctl/mcpapi/toolset"
)

// answer answers a tools/call with the parameters params, which must be valid JSON. It reports false, and has done
// nothing, for all messages that it leaves to mcp-go: calls of unknown tools, malformed calls, and calls of protocol
// revisions that name their client in each message.
func (s *api) answer(ctx context.Context, id, params json.RawMessage) (answer mcp.JSONRPCMessage, ok bool) {
	c, ok := mcpgo.ReadCall(params)
	if !ok {
		return nil, false
	}
	result, ok, err := s.answerRead(ctx, id, c)
	switch {
	case !ok:
		return nil, false
	case err != nil:
		return mcpgo.Error(mcp.INTERNAL_ERROR, err.Error()), true
	}
	return mcp.JSONRPCResponse{JSONRPC: mcp.JSONRPC_VERSION, Result: result}, true
}

// answerRead is answer for a parsed call. The error is a fault of this program.
func (s *api) answerRead(ctx context.Context, id json.RawMessage, c mcpgo.Call) (result *mcp.CallToolResult, ok bool, err error) {
	t, ok := s.tools[c.Name]
	// To a client that does not draw the page, its tool is one that does not exist.
	if !ok || t.Name == apps.ViewTool && !apps.Drawn(ctx) {
		return nil, false, nil
	}
	done := s.logCall(ctx, id, t.Name, c.Arguments)
	result, err = s.answerCall(ctx, t, request{arguments: c.Arguments, progress: c.Progress})
	if err == nil {
		done(result)
	}
	return result, true, err
}

// handler answers the calls of a tool that come through mcp-go.
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

// about returns what a tools/call with the parameters params, which must be valid JSON, is about.
func (s *api) about(params json.RawMessage) []inorder.Subject {
	c, _ := mcpgo.ReadCall(params) // which has the name of most calls that it leaves to mcp-go, too
	t, known := s.tools[c.Name]
	if !known {
		return nil
	}
	return subject.Of(t.Tool.Tool, c.Arguments)
}

// answered passes the text of a call's result on to Options.Answered. A call without a result has an empty one.
func (s *api) answered(c *toolset.Call, result *mcp.CallToolResult) {
	var texts []string
	failed := false
	if result != nil {
		failed = result.IsError
		for _, content := range result.Content {
			if t, ok := mcp.AsTextContent(content); ok {
				texts = append(texts, t.Text)
			}
		}
	}
	s.o.Answered(toolset.SerialOf(c), strings.Join(texts, "\n"), failed)
}
