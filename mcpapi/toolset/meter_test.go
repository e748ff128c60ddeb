package toolset

import (
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// An idleSession is a client of some revision that gets no notifications.
type idleSession struct{ revision string }

func (idleSession) Initialize() {}

func (idleSession) Initialized() bool { return true }

func (idleSession) SessionID() string { return "idle" }

func (idleSession) NotificationChannel() chan<- mcp.JSONRPCNotification { return nil }

func (s idleSession) ProtocolVersion() string { return s.revision }

func (s idleSession) SetProtocolVersion(string) {}

// TestProgressOfOldClients: the first revision knows no text in it.
func TestProgressOfOldClients(t *testing.T) {
	for revision, text := range map[string]bool{"2024-11-05": false, "2025-03-26": true, "": true} {
		s := idleSession{revision: revision}
		p := new(meter).params(new(server.MCPServer).WithContext(t.Context(), s), 1, 5*time.Second)
		if _, ok := p["message"]; ok != text || p["progress"] != int64(5) {
			t.Errorf("%s: %v", revision, p)
		}
	}
}

// TestProgressOfFiles: the progress of a transfer says how much of it is done.
func TestProgressOfFiles(t *testing.T) {
	m := new(meter)
	m.moves("reading big")(1 << 20)
	p := m.params(new(server.MCPServer).WithContext(t.Context(), idleSession{}), 1, 5*time.Second)
	if want := "reading big: waiting for 5s, 1048576 bytes have been moved"; p["message"] != want ||
		p["progress"] != int64(5) {
		t.Errorf("%v, want %q", p, want)
	}
}
