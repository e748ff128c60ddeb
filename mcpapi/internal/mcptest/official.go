package mcptest

import (
	"context"
	"encoding/json"
	"io"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"ptyctl/mcpapi"
	"ptyctl/mcpapi/stdio"
	"ptyctl/mcpapi/subscribe"
	"ptyctl/term"

	"github.com/mark3labs/mcp-go/server"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Connect makes a lab with the official client, of a revision, connected to it.
type Connect func(*testing.T, Config, string, sdk.ClientOptions) (*Lab, *Official)

// Transports are the transports of the official client.
var Transports = map[string]Connect{
	"stdio": func(t *testing.T, c Config, revision string, o sdk.ClientOptions) (*Lab, *Official) {
		t.Helper()
		l, srv := NewServer(t, c)
		return l, newOfficial(t, srv, revision, o)
	},
	"http": func(t *testing.T, c Config, revision string, o sdk.ClientOptions) (*Lab, *Official) {
		t.Helper()
		l, srv := NewServer(t, c)
		return l, NewOfficialHTTP(t, srv, revision, o)
	},
}

// ForEachClient runs f as a test for each transport and revision of the official client.
func ForEachClient(
	t *testing.T,
	f func(t *testing.T, revision string, connect Connect),
) {
	t.Helper()
	for name, connect := range Transports {
		for _, revision := range Revisions {
			t.Run(name+" "+revision, func(t *testing.T) { f(t, revision, connect) })
		}
	}
}

// URIs returns the URIs of the resources that the server lists.
func (c *Official) URIs() []string {
	c.t.Helper()
	res, err := c.ListResources(c.t.Context(), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	var uris []string
	for _, r := range res.Resources {
		uris = append(uris, r.URI)
	}
	return uris
}

// Text returns the text of a resource, or fails the test.
func (c *Official) Text(uri string) string {
	c.t.Helper()
	res, err := c.ReadResource(c.t.Context(), &sdk.ReadResourceParams{URI: uri})
	if err != nil || len(res.Contents) != 1 || res.Contents[0].URI != uri {
		c.t.Fatalf("%s: %+v, %v", uri, res, err)
	}
	return res.Contents[0].Text
}

// Revisions are the revisions of the official client in tests: the last one with sessions, and the one without.
var Revisions = []string{"2025-11-25", "2026-07-28"}

// An Official is the official Go client, connected to a ptyctl in this process.
type Official struct {
	*sdk.ClientSession
	t       *testing.T
	changed chan string // URIs of updated resources, and "list" for a changed list
}

// newOfficial connects the official client through stdio.Serve.
func newOfficial(t *testing.T, srv *mcpapi.Server, revision string, o sdk.ClientOptions) *Official {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	var running sync.WaitGroup
	running.Go(func() {
		o := stdio.Options{DrainTimeout: time.Millisecond}
		if err := stdio.Serve(context.Background(), srv, inR, outW, o); err != nil {
			t.Error(err)
		}
		outW.Close()
	})
	t.Cleanup(running.Wait)
	t.Cleanup(func() { inW.Close() })
	return connectOfficial(t, &sdk.IOTransport{Reader: outR, Writer: inW}, revision, o)
}

// NewOfficialHTTP connects it through mcp-go's HTTP handler.
func NewOfficialHTTP(t *testing.T, srv *mcpapi.Server, revision string, o sdk.ClientOptions) *Official {
	t.Helper()
	web := httptest.NewServer(server.NewStreamableHTTPServer(srv.Protocol().MCPServer, server.WithStateful(true)))
	t.Cleanup(web.Close)
	return connectOfficial(t, &sdk.StreamableClientTransport{Endpoint: web.URL + "/mcp"}, revision, o)
}

func connectOfficial(t *testing.T, transport sdk.Transport, revision string, o sdk.ClientOptions) *Official {
	t.Helper()
	c := &Official{t: t, changed: make(chan string, 100)}
	o.ResourceListChangedHandler = func(context.Context, *sdk.ResourceListChangedRequest) { c.changed <- "list" }
	o.ResourceUpdatedHandler = func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) {
		c.changed <- r.Params.URI
	}
	var err error
	c.ClientSession, err = sdk.NewClient(&sdk.Implementation{Name: "official", Version: "1"}, &o).
		Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatalf("the official client cannot connect: %v", err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Call makes a tool call.
func (c *Official) Call(tool, args string) Reply {
	c.t.Helper()
	r, err := c.Try(c.t.Context(), tool, args)
	if err != nil {
		c.t.Fatalf("%s %s: %v", tool, args, err)
	}
	return r
}

// Try calls a tool and returns its result, or the error of the call.
func (c *Official) Try(ctx context.Context, tool, args string) (Reply, error) {
	res, err := c.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		return Reply{}, err
	}
	r := Reply{IsError: res.IsError}
	if len(res.Content) == 1 {
		r.Text = res.Content[0].(*sdk.TextContent).Text
	}
	return r, json.Unmarshal([]byte(r.Text), &r)
}

// WantChanged waits until each of the named resources was notified, and ignores other notifications meanwhile.
func (c *Official) WantChanged(what ...string) {
	c.t.Helper()
	missing := make(map[string]bool)
	for _, w := range what {
		missing[w] = true
	}
	for deadline := time.After(20 * time.Second); len(missing) > 0; {
		select {
		case got := <-c.changed:
			delete(missing, got)
		case <-deadline:
			c.t.Fatalf("nobody told of %v", missing)
		}
	}
}

// Watched makes a lab's configuration with a Watch.
func Watched(t *testing.T, c Config) Config {
	t.Helper()
	w := subscribe.NewWatch()
	t.Cleanup(w.Close)
	c.Options.Watch = w
	c.Sessions.Observers = append(c.Sessions.Observers, term.Observer(w))
	return c
}
