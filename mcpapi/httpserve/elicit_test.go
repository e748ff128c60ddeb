package httpserve_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ptyctl/mcpapi/httpserve"
	"ptyctl/term"
)

// asking is a terminal with a login that asks about the host's key.
func asking(ctx context.Context, t term.Target, p term.Prompter, _ term.Approve) (term.Transport, error) {
	a, err := p.Prompt(ctx, term.Prompt{Kind: term.PromptHostKey, Host: t.Host, Text: "Is SHA256:abc right?", Echo: true})
	if err != nil {
		return nil, err
	}
	if a != "yes" {
		return nil, &term.Error{Kind: term.HostKeyUnknown, Msg: "refused"}
	}
	return echo(ctx, t, p, nil)
}

// A question goes to the person at an HTTP client, in every revision, and the answer
// belongs to the call that asked.
func TestElicitation(t *testing.T) {
	for _, revision := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			s := newSite(t, httpserve.Options{Tokens: allTokens, Isolate: true})
			asked := 0
			c, err := mcp.NewClient(&mcp.Implementation{Name: "go-sdk", Version: "1"}, &mcp.ClientOptions{
				ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked++
					if !strings.Contains(r.Params.Message, "SHA256:abc") {
						t.Errorf("question = %q, want that about the host key", r.Params.Message)
					}
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"trust": true}}, nil
				},
			}).Connect(t.Context(), &mcp.StreamableClientTransport{
				Endpoint: "http://" + s.host + httpserve.Path, HTTPClient: &http.Client{Transport: bearer{writeToken}},
			}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			for round := 1; round <= 2; round++ { // the second call may bypass mcp-go's handler
				r, err := c.CallTool(
					t.Context(),
					&mcp.CallToolParams{
						Name:      "ptyctl_session",
						Arguments: map[string]any{"action": "open", "protocol": "telnet", "host": "h"},
					},
				)
				if err != nil || r.IsError || asked != round {
					t.Fatalf("open = %+v, %v after %d questions; want success after one per call", r, err, asked)
				}
				if text := r.Content[0].(*mcp.TextContent).Text; !strings.Contains(text, `"state":"open"`) {
					t.Errorf("open = %s, want a session", text)
				}
			}
		})
	}
}
