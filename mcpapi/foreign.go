package mcpapi

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/mcpapi/jsonrpc"
	"ptyctl/term"
)

// A Handler runs one call of a tool. The context carries the caller as a term.Actor. The result must be an Answer or
// a struct, which becomes the result's JSON. An error takes the form that Toolset.Fail gives it.
type Handler func(ctx context.Context, c *Call) (any, error)

// An Answer is the result of a call, in the form that the contract of another program asks for.
type Answer struct {
	Text       string
	Structured json.RawMessage // the same for clients that know it; needed if the tool has an Output, and only then
	IsError    bool
}

// answer makes the result of a Call.
func (s *api) answer(ctx context.Context, a Answer) (*mcp.CallToolResult, error) {
	r := &mcp.CallToolResult{Content: []mcp.Content{mcp.NewTextContent(a.Text)}, IsError: a.IsError}
	if a.Structured != nil && s.structured(ctx) {
		structured, err := jsonrpc.NewObject(a.Structured)
		if err != nil {
			return nil, err
		}
		r.StructuredContent = structured
	}
	return r, nil
}

// failed is fail in the form of a set of tools.
func (s *api) failed(ctx context.Context, set *Toolset, err error) (*mcp.CallToolResult, error) {
	if set.Fail == nil {
		return s.fail(ctx, err)
	}
	if term.KindOf(err) == term.Internal {
		s.log.Error("internal error", "error", err)
	}
	return s.answer(ctx, set.Fail(err))
}
