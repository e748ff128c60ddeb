package mcpapi

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/mcpapi/apps"
	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/toolset"
)

// An entry is a tool in tools/list. It is made for the first list that has it, and kept: every client that starts asks for
// one, and most commands of people for none. Without that a start took a tenth longer.
type entry func() mcp.Tool

// declare returns the entry of a tool.
func declare(set *toolset.Set, t *schema.Tool) entry {
	return sync.OnceValue(func() mcp.Tool {
		d := mcp.NewToolWithRawSchema(t.Name, t.About, t.InputSchema())
		if len(t.Output) > 0 {
			d.RawOutputSchema = t.OutputSchema(set.FailureForm())
		}
		d.Annotations = annotations(t)
		return d
	})
}

// unlisted returns the entry that mcp-go has of a tool before forClient puts the real entry into a list.
func unlisted(t *schema.Tool) mcp.Tool {
	return mcp.NewToolWithRawSchema(t.Name, "", json.RawMessage(`{"type":"object"}`))
}

// Tools returns the tools that every client is shown, by name.
func (s *Server) Tools() map[string]*schema.Tool {
	all := make(map[string]*schema.Tool, len(s.api.tools))
	for name, t := range s.api.tools {
		all[name] = t.For(schema.Everyone)
	}
	return all
}

// A reader is a tool as callers that may only read see and call it. It is made when the first of them asks.
type reader func() (t *toolset.Tool, listed mcp.Tool)

// forReading returns the reader of a tool: t is nil if none of its actions only reads.
func forReading(set *toolset.Set, t *toolset.Tool) reader {
	return sync.OnceValues(func() (*toolset.Tool, mcp.Tool) {
		r := t.ForReading()
		if r == nil {
			return nil, mcp.Tool{}
		}
		return &toolset.Tool{Tool: r, Handle: t.Handle}, declare(set, r)()
	})
}

// annotations returns the hints of a tool that differ from the protocol's defaults: not read-only, destructive, not
// idempotent, dealing with an open world. Of a tool that only reads the protocol gives the second and third no meaning.
func annotations(t *schema.Tool) mcp.ToolAnnotation {
	a := mcp.ToolAnnotation{Title: t.Title}
	if t.Hints.ReadOnly {
		a.ReadOnlyHint = new(true)
	}
	if !t.Hints.Destructive && !t.Hints.ReadOnly {
		a.DestructiveHint = new(false)
	}
	if t.Hints.Idempotent && !t.Hints.ReadOnly {
		a.IdempotentHint = new(true)
	}
	if !t.Hints.OpenWorld {
		a.OpenWorldHint = new(false)
	}
	return a
}

// forClient puts the entries into the list. It leaves out the output schemas for a client that gets no structured
// content: some clients insist on both or neither. For a model's client it also leaves out the titles of our own tools,
// which say the same as their names and cost context.
func (s *api) forClient(ctx context.Context, list []mcp.Tool) []mcp.Tool {
	own, others := s.results.StructuredFor(ctx), s.results.KnowsStructured(ctx)
	plain := apps.Hide(ctx, slices.Clone(list))
	for i := range plain {
		if listed, ok := s.listed[plain[i].Name]; ok {
			plain[i] = listed()
		}
		called, known := s.tools[plain[i].Name]
		if foreign := !known || called.set.Foreign(); !own && !foreign || !others {
			plain[i].RawOutputSchema = nil
		}
		if known && !called.set.Foreign() && !own {
			plain[i].Annotations.Title = ""
		}
	}
	return plain
}

// forSome adds to the list the actions that the caller has and others have not.
func (s *api) forSome(ctx context.Context, _ any, _ *mcp.ListToolsRequest, result *mcp.ListToolsResult) {
	who := s.callersOf(ctx)
	if who == schema.Everyone { // the list is for them already
		return
	}
	result.Tools = slices.Clone(result.Tools)
	for i, plain := range result.Tools {
		if t, ok := s.special[shownTo{who, plain.Name}]; ok {
			result.Tools[i] = likeListed(t(), plain)
		}
	}
}

// likeListed removes from t the parts that forClient, which ran before, has removed from the tool in the list.
func likeListed(t, listed mcp.Tool) mcp.Tool {
	if listed.RawOutputSchema == nil {
		t.RawOutputSchema = nil
	}
	t.Annotations.Title = listed.Annotations.Title
	return t
}

// forReader hides the actions that type from the list of a caller that may only read. It is not an mcp-go filter: a
// filtered tool cannot be called at all, and the caller would get "no such tool" instead of the reason.
func (s *api) forReader(ctx context.Context, _ any, _ *mcp.ListToolsRequest, result *mcp.ListToolsResult) {
	if !s.shared.OnlyReads(ctx) {
		return
	}
	list := []mcp.Tool{}
	for _, full := range result.Tools {
		if r, ok := s.readers[shownTo{s.callersOf(ctx), full.Name}]; ok {
			if t, listed := r(); t != nil {
				list = append(list, likeListed(listed, full))
			}
		}
	}
	result.Tools = list
}

// forPlace hides, in the same way, tools for places that the caller may not reach: programs on this machine, and
// ptyctl_fs if the caller may use no files, here or on other hosts.
func (s *api) forPlace(ctx context.Context, _ any, _ *mcp.ListToolsRequest, result *mcp.ListToolsResult) {
	out := s.outOfReach(ctx)
	result.Tools = slices.DeleteFunc(slices.Clone(result.Tools), func(t mcp.Tool) bool { return out(t.Name) })
}
