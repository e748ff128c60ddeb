package subscribe

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/toolset"
	"ptyctl/session"
)

// lasting is another node. It has every session, and its resources never change.
type lasting struct{}

func (lasting) Node(_ context.Context, session string) string {
	_, node, _ := strings.Cut(session, "@")
	return node
}

func (lasting) Read(context.Context, string, string) ([]mcp.ResourceContents, error) { return nil, nil }

func (lasting) Lists(context.Context, string) []toolset.Gathered { return nil }

func (lasting) Watch(ctx context.Context, _, _ string, _ func()) { <-ctx.Done() }

// TestFollowIsBounded: one caller leaves room for the others to follow resources of other nodes, and no state is kept
// for resources that are not followed.
func TestFollowIsBounded(t *testing.T) {
	watch := NewWatch()
	defer watch.Close()
	m := session.NewManager(session.Config{})
	watch.Serve(server.NewMCPServer("ptyctl", "0"), new(server.Hooks), m, lasting{})
	f := (*watch.feeds.Load())[0]
	listens := func(token string, n int) (uris map[string]bool) {
		ctx := identity.WithCaller(t.Context(), identity.Caller{Transport: "http", Token: token})
		ctx = f.srv.WithContext(ctx, deafSession{})
		var all []string
		for i := range n {
			all = append(all, tailURI(fmt.Sprintf("%s-%d@node-2", token, i)))
		}
		f.subscriptions(ctx, token, &mcp.SubscriptionsListenRequest{Params: mcp.SubscriptionsListenParams{
			Notifications: mcp.SubscriptionFilter{ResourceSubscriptions: all},
		}})
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, w := range f.watchers {
			if w.subscription == token {
				uris = w.uris
			}
		}
		return uris
	}
	if got := len(listens("eve", 3*maxFollowedEach)); got != maxFollowedEach {
		t.Errorf("one caller follows %d resources, want %d", got, maxFollowedEach)
	}
	if got := len(listens("alice", 3)); got != 3 {
		t.Errorf("another caller follows %d of 3 resources", got)
	}
}
