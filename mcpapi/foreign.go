package mcpapi

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/session"
	"ptyctl/term"
)

// A Handler does what one call of a tool asks for. The context carries the caller as a term.Actor. What it returns is a
// struct, whose JSON is the result, or an Answer. An error takes the form that Toolset.Fail gives it.
type Handler func(ctx context.Context, c *Call) (any, error)

// An Answer is the result of a call, in the form that the contract of another program asks for.
type Answer struct {
	Text       string
	Structured json.RawMessage // the same for clients that know it; needed if the tool has an Output, and only then
	IsError    bool
}

// Action returns which of the tool's actions is asked for.
func (c *Call) Action() string { return c.action }

// Invalid is the error for an argument that the table lets pass, and that is wrong all the same. The text says what is
// right.
func (c *Call) Invalid(field, text string) error { return c.checker().invalid(field, nil, "%s", text) }

// Waits says, for the progress that a client is told of, what the call is about to wait for; s may be nil.
func (c *Call) Waits(what string, s *session.Session) { c.meter.waits(what, s) }

// Options are those of the server, without zeros.
func (c *Call) Options() Options { return c.o }

// OnlyReads reports whether the caller may do only what does not type.
func (c *Call) OnlyReads(ctx context.Context) bool { return c.onlyReads(ctx) }

// Session returns the session with that id, if the caller may know of it. That there is none is on record, as any refusal
// of verb.
func (c *Call) Session(ctx context.Context, verb term.Verb, id string) (*session.Session, error) {
	s, err := c.m.GetFor(ctx, verb, id)
	if err == nil && !callerFrom(ctx).sees(s.Info()) {
		return nil, c.m.Hide(ctx, verb, id)
	}
	return s, err
}

// Sessions returns the sessions that the caller may know of, oldest first.
func (c *Call) Sessions(ctx context.Context) []session.Info { return c.visible(ctx) }

// answer makes the result of a Call.
func (s *api) answer(ctx context.Context, a Answer) (*mcp.CallToolResult, error) {
	r := &mcp.CallToolResult{Content: []mcp.Content{mcp.NewTextContent(a.Text)}, IsError: a.IsError}
	if a.Structured != nil && s.structured(ctx) {
		structured, err := newObject(a.Structured)
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
