package httpserve_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ptyctl/mcpapi/httpserve"
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
