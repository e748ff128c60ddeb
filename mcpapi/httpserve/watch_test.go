package httpserve_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ptyctl/mcpapi/httpserve"
)

// If tokens are isolated, each is notified only about its own sessions.
func TestIsolatedWatch(t *testing.T) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			s := newSite(t, httpserve.Options{Tokens: allTokens, Isolate: true})
			seen := make(map[string]chan string)
			clients := make(map[string]*mcp.ClientSession)
			for _, token := range []string{writeToken, otherToken} {
				c := make(chan string, 100)
				seen[token] = c
				var err error
				clients[token], err = mcp.NewClient(&mcp.Implementation{Name: "go-sdk", Version: "1"}, &mcp.ClientOptions{
					ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { c <- "list" },
					ResourceUpdatedHandler: func(_ context.Context,
						r *mcp.ResourceUpdatedNotificationRequest,
					) {
						c <- r.Params.URI
					},
				}).Connect(t.Context(), &mcp.StreamableClientTransport{
					Endpoint: "http://" + s.host + httpserve.Path, HTTPClient: &http.Client{Transport: bearer{token}},
				}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
				if err != nil {
					t.Fatal(err)
				}
				defer clients[token].Close()
				if _, err := clients[token].ListResources(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
				if err := clients[token].Subscribe(t.Context(), &mcp.SubscribeParams{URI: "ptyctl://sessions"}); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(300 * time.Millisecond)
			if r, err := clients[writeToken].CallTool(t.Context(), &mcp.CallToolParams{
				Name:      "ptyctl_session",
				Arguments: map[string]any{"action": "open", "protocol": "ssh", "host": "echo"},
			}); err != nil ||
				r.IsError {
				t.Fatal(r, err)
			}
			id := s.sessions.List()[0].ID
			for range 2 {
				select {
				case got := <-seen[writeToken]:
					t.Log(got)
				case <-time.After(time.Minute):
					t.Fatal("the owner is not told")
				}
			}
			time.Sleep(500 * time.Millisecond)
			select {
			case got := <-seen[otherToken]:
				t.Errorf("notification for another token = %s, want none", got)
			default:
			}
			for token, want := range map[string]int{writeToken: 3, otherToken: 1} {
				l, err := clients[token].ListResources(t.Context(), nil)
				if err != nil || len(l.Resources) != want {
					t.Errorf("resources/list = %d resources, %v, want one's own", len(l.Resources), err)
				}
				for _, suffix := range []string{"", "/tail"} {
					_, err = clients[token].ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "ptyctl://sessions/" + id + suffix})
					if (err == nil) != (token == writeToken) {
						t.Errorf("resources/read = %v, want success only for the owner", err)
					}
				}
				r, err := clients[token].ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "ptyctl://sessions"})
				if err != nil || strings.Contains(r.Contents[0].Text, id) != (token == writeToken) {
					t.Errorf("resources/read = %v %s, want the error or the text of the session", err, r.Contents[0].Text)
				}
			}
		})
	}
}

// A stream ends with its client, even if the request has a body, which no GET needs. A request with a large body is
// refused.
func TestStreamEndsWithClient(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan struct{})
	s := newSite(t, httpserve.Options{Watch: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		<-r.Context().Done()
		ended <- struct{}{}
	})})
	for _, body := range []string{"", "null", strings.Repeat("x", 4<<10)} {
		conn, err := net.Dial("tcp", s.host)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s",
			httpserve.WatchPath, s.host, len(body), body)
		<-begun
		_ = conn.Close()
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			t.Fatalf("20 s after its client has gone, a stream with a body of %d bytes goes on", len(body))
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.host+httpserve.WatchPath,
		strings.NewReader(strings.Repeat("x", 5<<10)))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("a GET with a body of 5 KiB = %s, want 400", res.Status)
	}
}
