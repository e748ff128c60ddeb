package mcpapi

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/peers"
	"ptyctl/mcpapi/subscribe"
	"ptyctl/mcpapi/toolset"
	"ptyctl/term"
)

// farResources returns the resources of the other nodes; nil: there are no other nodes.
type farResources struct{ s *api }

func (s *api) farResources() subscribe.Far {
	if s.o.Cluster.Peers == nil {
		return nil
	}
	return farResources{s}
}

// Node implements subscribe.Far.
func (f farResources) Node(ctx context.Context, session string) string {
	node := peers.NodeOf(session)
	if isServed(ctx) || node == f.s.o.Cluster.Peers.Node() {
		return ""
	}
	return node
}

// Lists implements subscribe.Far.
func (f farResources) Lists(ctx context.Context, uri string) []toolset.Gathered {
	if isServed(ctx) {
		return nil
	}
	call := f.s.callFor(ctx)
	call.URI, call.Caller.Results = uri, string(identity.Full)
	return f.s.askAll(ctx, call, func(raw json.RawMessage) (json.RawMessage, error) {
		result, err := mcp.ParseReadResourceResult(&raw)
		if err != nil {
			return nil, err
		}
		for _, c := range result.Contents {
			if text, ok := mcp.AsTextResourceContents(c); ok {
				return json.RawMessage(text.Text), nil
			}
		}
		return nil, term.Errorf(term.IOError, "an empty answer")
	})
}

// Watch implements subscribe.Far.
func (f farResources) Watch(ctx context.Context, node, uri string, changed func()) {
	call := f.s.callFor(ctx)
	call.URI, call.Watch = uri, true
	_, _ = f.s.o.Cluster.Peers.Forward(ctx, node, call, changes(changed)) // whatever has ended it, the client must look
}

// changes is the client of a call that watches a resource.
type changes func()

func (c changes) Notify(method string, _ json.RawMessage) {
	if method == mcp.MethodNotificationResourceUpdated {
		c()
	}
}

func (changes) Ask(_ context.Context, method string, _ json.RawMessage) (json.RawMessage, error) {
	return nil, noMethod(method)
}

// Read implements subscribe.Far.
func (f farResources) Read(ctx context.Context, node, uri string) ([]mcp.ResourceContents, error) {
	call := f.s.callFor(ctx)
	call.URI = uri
	raw, err := f.s.o.Cluster.Peers.Forward(ctx, node, call, nobody{})
	if err != nil {
		return nil, err
	}
	result, err := mcp.ParseReadResourceResult(&raw)
	if err != nil {
		return nil, err
	}
	return result.Contents, nil
}
