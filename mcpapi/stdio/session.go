package stdio

import (
	"crypto/rand"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// clientSession is the one client of a Serve. As the session that mcp-go broadcasts to, it never blocks: a
// broadcast that finds the queue full is dropped, because it may come from a goroutine that must not wait.
type clientSession struct {
	id    string
	out   *messageWriter
	asked requests // open requests to the client

	mu           sync.Mutex
	initialized  bool
	client       mcp.Implementation
	capabilities mcp.ClientCapabilities
	protocol     string
}

// newSession makes the session of the client that reads from w. Its id is random, so ids of several servers differ.
func newSession(w *messageWriter) *clientSession {
	return &clientSession{id: "stdio-" + rand.Text(), out: w}
}

func (s *clientSession) SessionID() string { return s.id }

func (s *clientSession) NotificationChannel() chan<- mcp.JSONRPCNotification {
	return s.out.notifications
}

func (s *clientSession) Initialize() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.initialized = true
}

func (s *clientSession) Initialized() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.initialized
}

func (s *clientSession) GetClientInfo() mcp.Implementation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

func (s *clientSession) SetClientInfo(client mcp.Implementation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client = client
}

func (s *clientSession) GetClientCapabilities() mcp.ClientCapabilities {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.capabilities
}

func (s *clientSession) SetClientCapabilities(c mcp.ClientCapabilities) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.capabilities = c
}

func (s *clientSession) ProtocolVersion() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.protocol
}

func (s *clientSession) SetProtocolVersion(version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.protocol = version
}

// requestSession is the session as the handler of one request sees it: it waits for room in the queue, so that no
// message that it sends is dropped.
type requestSession struct {
	*clientSession
	cancelled <-chan struct{} // closed when the request's context ends
}

// NotificationChannel returns a channel with room in it. mcp-go calls it for each notification and drops those that
// do not fit; half of the queue stays free for concurrent callers.
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

// Lasting returns the session that lasts as long as the client; see mcpgo.Lasting.
func (s *requestSession) Lasting() server.ClientSession { return s.clientSession }
