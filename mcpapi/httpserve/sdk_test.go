package httpserve_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ptyctl/mcpapi/httpserve"
	"ptyctl/term"
)

// bearer adds the token to every request of a client.
type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// The official Go client lists tools, calls one, cancels a call and continues with the
// same session. It cancels in a form that only the second newest revision has.
func TestGoClient(t *testing.T) {
	var seen diary
	s := newSite(t, httpserve.Options{Tokens: allTokens}, &seen)
	c, err := mcp.NewClient(&mcp.Implementation{Name: "go-sdk", Version: "1"}, nil).
		Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint: "http://" + s.host + httpserve.Path, HTTPClient: &http.Client{Transport: bearer{writeToken}},
		}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if list, err := c.ListTools(t.Context(), nil); err != nil || len(list.Tools) != 5 {
		t.Fatalf("tools/list = %+v, %v, want the tools", list, err)
	}
	call := func(ctx context.Context, tool string, args map[string]any) (*mcp.CallToolResult, error) {
		return c.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	}
	opened, err := call(t.Context(), "ptyctl_session", map[string]any{"action": "open", "protocol": "ssh", "host": "echo"})
	if err != nil || opened.IsError {
		t.Fatalf("open = %+v, %v, want a session", opened, err)
	}
	id := s.sessions.List()[0].ID
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if r, err := call(ctx, "ptyctl_session_io", map[string]any{
		"action": "read", "session_id": id,
		"until_regex": "never", "timeout_ms": 40000,
	}); err == nil {
		t.Errorf("canceled read = %+v, want an error", r)
	}
	if r, err := call(t.Context(), "ptyctl_session", map[string]any{"action": "status", "session_id": id}); err != nil ||
		r.IsError {
		t.Errorf("call after the canceled read = %+v, %v; want success", r, err)
	}
	x, err := s.sessions.Get(id)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); x.Info().Readers > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the read that was given up still waits")
		}
	}
}

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
