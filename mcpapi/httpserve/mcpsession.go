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

// maxSessions is the most MCP sessions at a time. A session takes 10 KiB, so clients that
// begin sessions and never end them take at most 100 MB.
const maxSessions = 10_000

// full returns a refusal if there is no room for another session.
func (s *mcpSessions) full() *refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.byID) < maxSessions {
		return nil
	}
	return refuse(
		http.StatusServiceUnavailable,
		"too many MCP sessions; end unused ones with DELETE, or wait until they expire (server.http.session_ttl_ms)",
	)
}

// mcpSessions are the MCP sessions of protocol revisions that have them. Each session
// belongs to the token that sent initialize: its id alone, for example from a log, is of
// no use to others.
type mcpSessions struct {
	mu   sync.Mutex
	byID map[string]*mcpSession
}

// An mcpSession is an MCP session and its owner.
type mcpSession struct {
	token string
	life  context.Context // canceled at the end of the session
	end   context.CancelCauseFunc
	heard atomic.Pointer[partner] // nil: mcp-go's HTTP handler has not had a call of it
	calls inFlight
}

// newMCPSessions returns an empty set.
func newMCPSessions() *mcpSessions { return &mcpSessions{byID: make(map[string]*mcpSession)} }

// find returns the session that r names, or the refusal. The revisions that it names in
// an error are those that mcp-go supports.
func (s *mcpSessions) find(r *http.Request, token string) (*mcpSession, *refusal) {
	if v := r.Header.Get(mcp.HeaderProtocolVersion); v != "" && !mcp.IsValidProtocolVersion(v) {
		return nil, refuse(
			http.StatusBadRequest,
			"protocol version of the header "+mcp.HeaderProtocolVersion+" not supported; use one of "+
				strings.Join(mcp.ValidProtocolVersions, ", "),
		)
	}
	id := r.Header.Get(server.HeaderKeySessionID)
	if id == "" {
		return nil, refuse(
			http.StatusBadRequest,
			"header Mcp-Session-Id missing; send the value from the answer to initialize, or send initialize first",
		)
	}
	if m := s.get(id, token); m != nil {
		return m, nil
	}
	return nil, refuse(
		http.StatusNotFound,
		"no such MCP session: it has ended, or was unused for too long; send initialize without Mcp-Session-Id "+
			"to begin a new one. Terminal sessions are not affected",
	)
}

// get returns the session with the given id if it belongs to token, and nil otherwise.
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
	if r == nil { // mcp-go removes idle sessions
		return ownedSessions{s, ""}
	}
	return ownedSessions{s, tokenFrom(r.Context())}
}

// ownedSessions implements server.SessionIdManager for a request with one token.
type ownedSessions struct {
	*mcpSessions
	token string
}

// Generate begins a session and returns its id.
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

// Validate reports whether a session exists. mcp-go asks this again after find has
// checked it.
func (s ownedSessions) Validate(id string) (terminated bool, err error) {
	if s.get(id, s.token) == nil {
		return false, errNoSession
	}
	return false, nil
}

// Terminate ends a session. find has already checked that the caller owns it.
func (s ownedSessions) Terminate(id string) (notAllowed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.byID[id]; m != nil {
		m.end(errSessionEnd)
		delete(s.byID, id)
	}
	return false, nil
}

// isModern reports whether a request belongs to a protocol revision without MCP sessions.
func isModern(r *http.Request, meta string) bool {
	return mcp.IsModernProtocol(meta) || mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion))
}
