package toolset_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"ptyctl/mcpapi/toolset"
)

// An idleSession is a client of some revision that gets no notifications.
type idleSession struct{ revision string }

func (idleSession) Initialize() {}

func (idleSession) Initialized() bool { return true }

func (idleSession) SessionID() string { return "idle" }

func (idleSession) NotificationChannel() chan<- mcp.JSONRPCNotification { return nil }

func (s idleSession) ProtocolVersion() string { return s.revision }

func (s idleSession) SetProtocolVersion(string) {}

// A client takes the notifications of its calls.
type client chan map[string]any

func (c client) SendNotificationToClient(_ context.Context, _ string, params map[string]any) error {
	c <- params
	return nil
}

// firstProgress returns the first progress that a client of a revision is told of a call.
func firstProgress(t *testing.T, revision string, prepare func(c *toolset.Call)) (params map[string]any) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := new(toolset.Call)
		new(toolset.Shared).Begin(c, new(toolset.Set), nil, "read", nil, nil)
		prepare(c)
		to := make(client)
		stop := c.Report(new(server.MCPServer).WithContext(t.Context(), idleSession{revision}), to, 1)
		params = <-to
		stop()
	})
	return params
}

// TestProgressOfOldClients: the first revision knows no text in it.
func TestProgressOfOldClients(t *testing.T) {
	for revision, text := range map[string]bool{"2024-11-05": false, "2025-03-26": true, "": true} {
		p := firstProgress(t, revision, func(*toolset.Call) {})
		if _, ok := p["message"]; ok != text || p["progress"] != int64(5) {
			t.Errorf("%s: %v", revision, p)
		}
	}
}

// TestProgressOfFiles: the progress of a transfer says how much of it is done.
func TestProgressOfFiles(t *testing.T) {
	p := firstProgress(t, "", func(c *toolset.Call) { c.Moves("reading big")(1 << 20) })
	if want := "reading big: waiting for 5s, 1048576 bytes have been moved"; p["message"] != want ||
		p["progress"] != int64(5) {
		t.Errorf("%v, want %q", p, want)
	}
}
