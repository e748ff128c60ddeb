package mcpapi

import (
	"context"
	"crypto/rand"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// ClientFromContext returns what the client of the current request says of itself: its name and version, and the
// protocol revision in effect, such as "2025-11-25". They come from initialize, or, since revision 2026-07-28, from
// the request's own _meta. Each is empty when the client did not say; none of them is verified.
func ClientFromContext(ctx context.Context) (name, version, protocol string) {
	protocol = negotiatedVersion(ctx)
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.Modern {
		if info.ClientInfo == nil {
			return "", "", protocol
		}
		return info.ClientInfo.Name, info.ClientInfo.Version, protocol
	}
	if s, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo); ok {
		client := s.GetClientInfo()
		return client.Name, client.Version, protocol
	}
	return "", "", protocol
}

// negotiatedVersion returns the protocol revision in effect for the current request, or "" when it is not known.
// A legacy request cannot change by its _meta what initialize has settled.
func negotiatedVersion(ctx context.Context) string {
	if server.IsModernRequest(ctx) {
		return server.RequestProtocolInfoFromContext(ctx).ProtocolVersion
	}
	if s, ok := server.ClientSessionFromContext(ctx).(server.SessionWithProtocolVersion); ok {
		return s.ProtocolVersion()
	}
	return ""
}

// stdioSession is the one client of a ServeStdio. As the session that mcp-go broadcasts to, it never blocks: a
// broadcast that finds the queue full is dropped, because it may come from a goroutine that must not wait.
type stdioSession struct {
	id    string
	out   *messageWriter
	asked stdioRequests // what the client was asked and has not answered

	mu           sync.Mutex
	initialized  bool
	client       mcp.Implementation
	capabilities mcp.ClientCapabilities
	protocol     string
}

func newStdioSession(w *messageWriter) *stdioSession {
	return &stdioSession{id: "stdio-" + rand.Text(), out: w}
}

func (s *stdioSession) SessionID() string { return s.id }

func (s *stdioSession) NotificationChannel() chan<- mcp.JSONRPCNotification {
	return s.out.notifications
}

func (s *stdioSession) Initialize() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.initialized = true
}

func (s *stdioSession) Initialized() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.initialized
}

func (s *stdioSession) GetClientInfo() mcp.Implementation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

func (s *stdioSession) SetClientInfo(client mcp.Implementation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client = client
}

func (s *stdioSession) GetClientCapabilities() mcp.ClientCapabilities {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.capabilities
}

func (s *stdioSession) SetClientCapabilities(c mcp.ClientCapabilities) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.capabilities = c
}

func (s *stdioSession) ProtocolVersion() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.protocol
}

func (s *stdioSession) SetProtocolVersion(version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.protocol = version
}

// requestSession is the session as the handler of one request sees it: it waits for room in the queue, so that
// nothing it sends is dropped.
type requestSession struct {
	*stdioSession
	cancelled <-chan struct{} // closed when the request's context ends
}

// NotificationChannel returns a channel with room in it. mcp-go calls it anew for each notification and drops what
// does not fit; half of the queue is left free for those who call it at the same time.
func (s *requestSession) NotificationChannel() chan<- mcp.JSONRPCNotification {
	queue := s.out.notifications
	for len(queue) > cap(queue)/2 {
		select {
		case s.out.messages <- nil: // Taken only after the previous message, and the queue before it, is written.
		case <-s.cancelled:
			return queue
		case <-s.out.quit:
			return queue
		}
	}
	return queue
}

var (
	_ server.SessionWithClientInfo      = (*requestSession)(nil)
	_ server.SessionWithProtocolVersion = (*requestSession)(nil)
	_ server.SessionWithElicitation     = (*requestSession)(nil)
)
