package subscribe

import (
	"context"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"ptyctl/session"
)

// maxCompleted is the most values of a completion (MCP, completion/complete).
const maxCompleted = 100

// Completion completes the {id} of the templates: with the sessions that the caller may know of, the newest first.
func Completion(sessions *session.Manager) server.ResourceCompletionProvider {
	return resources{sessions: sessions}
}

// CompleteResourceArgument implements server.ResourceCompletionProvider.
func (s resources) CompleteResourceArgument(
	ctx context.Context, uri string, argument mcp.CompleteArgument, _ mcp.CompleteContext,
) (*mcp.Completion, error) {
	c := &mcp.Completion{}
	if argument.Name != "id" || uri != statusTemplate && uri != tailTemplate {
		return c, nil
	}
	seen := s.seen(ctx)
	for _, s := range slices.Backward(seen) {
		if !strings.HasPrefix(s.ID, argument.Value) {
			continue
		}
		if c.Total++; len(c.Values) < maxCompleted {
			c.Values = append(c.Values, s.ID)
		}
	}
	c.HasMore = c.Total > len(c.Values)
	return c, nil
}
