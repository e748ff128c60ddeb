package httpserve

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// maxSessions bounds the memory, 10 KiB for each, that clients can take which begin sessions and end none.
const maxSessions = 10_000

// full refuses one session more.
func (s *mcpSessions) full() *refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.byID) < maxSessions {
		return nil
	}
	return refuse(
		http.StatusServiceUnavailable,
		"there are too many MCP sessions; end those that are not used with DELETE, or wait until they have expired (server.http.session_ttl_ms)",
	)
}

// mcpSessions are the MCP sessions that initialize has begun, in protocol revisions that have them. Each belongs to a
// token: an id is no use to who has got hold of it without.
type mcpSessions struct {
	mu   sync.Mutex
	byID map[string]*mcpSession
}

type mcpSession struct {
	token string
	life  context.Context // ends with the session
	end   context.CancelCauseFunc
	heard atomic.Pointer[partner] // nil: mcp-go's HTTP handler has had no call of it
}

func newMCPSessions() *mcpSessions { return &mcpSessions{byID: make(map[string]*mcpSession)} }

// find returns the session that r names.
func (s *mcpSessions) find(r *http.Request, token string) (*mcpSession, *refusal) {
	if v := r.Header.Get(mcp.HeaderProtocolVersion); v != "" && !mcp.IsValidProtocolVersion(v) {
		return nil, refuse(
			http.StatusBadRequest,
			"this server does not speak the protocol version of the header "+mcp.HeaderProtocolVersion+"; it speaks "+strings.Join(
				mcp.ValidProtocolVersions,
				", ",
			),
		)
	}
	id := r.Header.Get(server.HeaderKeySessionID)
	if id == "" {
		return nil, refuse(
			http.StatusBadRequest,
			"the header Mcp-Session-Id is missing; send the one that came with the answer to initialize, or begin with that",
		)
	}
	if m := s.get(id, token); m != nil {
		return m, nil
	}
	return nil, refuse(
		http.StatusNotFound,
		"there is no such MCP session: it has ended, or was idle for too long; send initialize without Mcp-Session-Id for a new one. Terminal sessions are not affected",
	)
}

func (s *mcpSessions) get(id, token string) *mcpSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.byID[id]; m != nil && m.token == token {
		return m
	}
	return nil
}

// ResolveSessionIdManager implements server.SessionIdManagerResolver.
//
//nolint:revive // the name is mcp-go's
func (s *mcpSessions) ResolveSessionIdManager(r *http.Request) server.SessionIdManager {
	if r == nil { // mcp-go's own clean-up
		return ownedSessions{s, ""}
	}
	return ownedSessions{s, tokenFrom(r.Context())}
}

// ownedSessions are the sessions for mcp-go while it serves a request with one token.
type ownedSessions struct {
	*mcpSessions
	token string
}

// Generate begins a session.
func (s ownedSessions) Generate() string {
	id := rand.Text()
	m := &mcpSession{token: s.token}
	m.life, m.end = context.WithCancelCause(context.Background())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byID[id] = m
	return id
}

var errNoSession = errors.New("no such MCP session")

// Validate is asked again by mcp-go; find has answered before.
func (s ownedSessions) Validate(id string) (terminated bool, err error) {
	if s.get(id, s.token) == nil {
		return false, errNoSession
	}
	return false, nil
}

// Terminate ends a session. Whether the caller may is known by then.
func (s ownedSessions) Terminate(id string) (notAllowed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.byID[id]; m != nil {
		m.end(errSessionEnd)
		delete(s.byID, id)
	}
	return false, nil
}

// isModern reports whether a request is of a revision without MCP sessions.
func isModern(r *http.Request, meta string) bool {
	return mcp.IsModernProtocol(meta) || mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion))
}
