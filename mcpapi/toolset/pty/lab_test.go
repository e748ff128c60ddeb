package pty

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ptyctl/internal/leaktest"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/stdio"
	"ptyctl/mcpapi/toolset"
	"ptyctl/ptyx"
	"ptyctl/session"
	"ptyctl/term"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

// patience is the longest wait of these tests.
const patience = 20 * time.Second

// A lab is a server with the five tools and programs of this machine.
type lab struct {
	m       *session.Manager
	options mcpapi.Options
}

// newLab starts a lab. Options that are zero have the defaults of ptyctl.
func newLab(tb testing.TB, o Options, sessions session.Config, server mcpapi.Options) *lab {
	tb.Helper()
	sessions.Dialers = map[string]term.Dialer{"local": ptyx.Host{}.Open}
	sessions.Logger = leaktest.Log(tb)
	m := session.NewManager(sessions)
	tb.Cleanup(func() { m.Close(context.Background()) })
	server.Sessions, server.More, server.Logger = m, []toolset.Set{Toolset(o)}, sessions.Logger
	if server.Toolsets == nil {
		server.Toolsets = []string{"pty"}
	}
	server.Local = []string{"stdio"}
	return &lab{m, server}
}

// A client is an MCP client of a lab, from the official Go SDK.
type client struct {
	*mcp.ClientSession
	tb testing.TB
	m  *session.Manager
}

// connect starts one client for each caller.
func connect(tb testing.TB, l *lab, callers ...identity.Caller) []client {
	tb.Helper()
	srv := mcpapi.NewServer(l.options)
	clients := make([]client, len(callers))
	for i, caller := range callers {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		var serving sync.WaitGroup
		serving.Go(func() {
			if err := stdio.Serve(identity.WithCaller(context.Background(), caller), srv, inR, outW,
				stdio.Options{DrainTimeout: time.Millisecond}); err != nil {
				tb.Error(err)
			}
			outW.Close()
		})
		s, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "7"}, nil).
			Connect(tb.Context(), &mcp.IOTransport{Reader: outR, Writer: inW}, nil)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() {
			s.Close()
			serving.Wait()
		})
		clients[i] = client{s, tb, l.m}
	}
	return clients
}

// start starts a lab with the defaults of ptyctl, and one client.
func start(tb testing.TB) client {
	tb.Helper()
	return connect(tb, newLab(tb, Options{}, session.Config{}, mcpapi.Options{}), identity.Caller{})[0]
}

// try calls a tool and returns its text.
func (c client) try(tool, arguments string) (text string, failed bool) {
	c.tb.Helper()
	r, err := c.CallTool(c.tb.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		c.tb.Fatalf("call %s %s: %v", tool, arguments, err)
	}
	if len(r.Content) != 1 || r.StructuredContent != nil {
		c.tb.Fatalf("call %s %s = %+v, want one text", tool, arguments, r)
	}
	text = r.Content[0].(*mcp.TextContent).Text
	leaktest.Output(c.tb, tool, text)
	if strings.HasPrefix(text, "Error: ") != r.IsError {
		c.tb.Errorf("call %s %s has isError %t with %q, want an error to start with Error", tool, arguments, r.IsError, text)
	}
	return text, r.IsError
}

// call calls a tool. The call must succeed.
func (c client) call(tool, arguments string) string {
	c.tb.Helper()
	text, failed := c.try(tool, arguments)
	if failed {
		c.tb.Fatalf("call %s %s = %s, want success", tool, arguments, text)
	}
	return text
}

// fails calls a tool. The call must fail with a text that starts with want.
func (c client) fails(tool, arguments, want string) {
	c.tb.Helper()
	if text, failed := c.try(tool, arguments); !failed || !strings.HasPrefix(text, want) {
		c.tb.Errorf("call %s %s = %q, want the failure %q", tool, arguments, text, want)
	}
}

var spawnedID = regexp.MustCompile(`(?m)^ID: (pty_[0-9a-f]{8})$`)

// spawn starts a program and returns its id.
func (c client) spawn(arguments string) string {
	c.tb.Helper()
	text := c.call("pty_spawn", arguments)
	id := spawnedID.FindStringSubmatch(text)
	if id == nil {
		c.tb.Fatalf("result of pty_spawn = %s, want an id", text)
	}
	return id[1]
}

// sh starts a script and waits until its output matches pattern.
func (c client) sh(script, until string) string {
	c.tb.Helper()
	id := c.spawn(argument(map[string]any{"command": "sh", "args": []string{"-c", script}}))
	c.await(id, until)
	return id
}

// await waits until the output of a session matches pattern.
func (c client) await(id, pattern string) {
	c.tb.Helper()
	s, err := c.m.Get(id)
	if err != nil {
		c.tb.Fatal(err)
	}
	r := s.Read(c.tb.Context(), session.ReadRequest{Until: regexp.MustCompile(pattern), Timeout: patience})
	if r.Reason != session.ReasonMatched {
		c.tb.Fatalf("output ended with %s: %q, want a match of %q", r.Reason, r.Data, pattern)
	}
}

// awaitEnd waits until a session has ended.
func (c client) awaitEnd(id string) {
	c.tb.Helper()
	s, err := c.m.Get(id)
	if err != nil {
		c.tb.Fatal(err)
	}
	select {
	case <-s.Ended():
	case <-time.After(patience):
		c.tb.Fatalf("session %s still runs after %v, want its end", id, patience)
	}
}

// about returns the arguments of a call on a session. The text in more must start with a
// comma.
func about(id, more string) string { return `{"id":"` + id + `"` + more + `}` }

func argument(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// settled replaces the parts of a result that differ in each run, for example ids and
// times.
func settled(text, id, dir string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, id, "pty_00000000"), dir, "/dir")
	text = regexp.MustCompile(`PID: [1-9][0-9]*`).ReplaceAllString(text, "PID: 1")
	return regexp.MustCompile(`Created: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`).
		ReplaceAllString(text, "Created: 2026-01-17T10:30:00.000Z")
}

func sdkCall(tool, arguments string) *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)}
}

func firstText(r *mcp.CallToolResult) string { return r.Content[0].(*mcp.TextContent).Text }
