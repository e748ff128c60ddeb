package httpserve

import (
	"container/list"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"ptyctl/mcpapi/jsonrpc"
)

// maxSessions is the most MCP sessions at a time. A session takes 10 KiB, so clients that
// begin sessions and never end them take at most 100 MB. Each token has an equal share. How many callers come with
// access tokens is not known: where all sessions are taken, one of the caller that has most of them ends.
const maxSessions = 10_000

// mcpSessions are the MCP sessions of protocol revisions that have them. Each session
// belongs to the token that sent initialize: its id alone, for example from a log, is of
// no use to others.
type mcpSessions struct {
	mu      sync.Mutex // guards the following
	most    int        // sessions of all tokens
	share   int        // most sessions of one token
	byID    map[string]*mcpSession
	byToken map[string]*list.List // of *mcpSession, the least recently used first
}

// An mcpSession is an MCP session and its owner.
type mcpSession struct {
	id    string
	token string
	place *list.Element   // among the sessions of its token; guarded by mcpSessions.mu
	open  atomic.Int32    // its open streams
	life  context.Context // canceled at the end of the session
	end   context.CancelCauseFunc
	heard atomic.Pointer[partner] // nil: mcp-go's HTTP handler has not had a call of it
	calls inFlight

	revision atomic.Pointer[string] // of the protocol, from the answer to initialize; nil: not answered yet
}

// settle notes the protocol revision of a session from the answer to its initialize.
func (s *mcpSessions) settle(id, token string, answer []byte) {
	var settled struct {
		Result struct {
			ProtocolVersion string `json:"protocolVersion"`
		} `json:"result"`
	}
	if m := s.get(id, token); m != nil && json.Unmarshal(answer, &settled) == nil {
		m.revision.Store(&settled.Result.ProtocolVersion)
	}
}

// protocol returns the protocol revision of the session; "" if it is not settled.
func (m *mcpSession) protocol() string {
	if revision := m.revision.Load(); revision != nil {
		return *revision
	}
	return ""
}

// newMCPSessions returns an empty set for so many tokens.
func newMCPSessions(tokens int) *mcpSessions {
	s := &mcpSessions{byID: make(map[string]*mcpSession), byToken: make(map[string]*list.List)}
	s.limit(maxSessions, tokens)
	return s
}

// limit divides the most sessions among so many tokens.
func (s *mcpSessions) limit(most, tokens int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most, s.share = most, max(1, most/max(1, tokens))
}

// excess returns the session that must end before a token can begin another one, or nil. It is the least recently used
// one. A session with an open stream is in use.
func (s *mcpSessions) excess(token string) *mcpSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.byToken[token]
	if all == nil || all.Len() < s.share {
		if len(s.byID) < s.most {
			return nil
		}
		for _, other := range s.byToken {
			if all == nil || other.Len() > all.Len() {
				all = other
			}
		}
	}
	for e := all.Front(); e != nil; e = e.Next() {
		if m := e.Value.(*mcpSession); m.open.Load() == 0 {
			return m
		}
	}
	return all.Front().Value.(*mcpSession)
}

// makeRoom ends sessions until a token may begin another one.
func (h *Handler) makeRoom(ctx context.Context, token string) {
	for m := h.sessions.excess(token); m != nil; m = h.sessions.excess(token) {
		r, err := http.NewRequestWithContext(
			context.WithValue(ctx, tokenKey{}, m.token),
			http.MethodDelete,
			Path,
			http.NoBody,
		)
		if err != nil {
			return // never: the method and the path are constants
		}
		r.Header.Set(server.HeaderKeySessionID, m.id)
		// As if its client had sent it: mcp-go keeps data of the session, too, and offers no other way.
		h.mcp.ServeHTTP(nowhere{make(http.Header)}, r)
		_, _ = ownedSessions{h.sessions, m.token}.Terminate(m.id) // nothing is left to do, unless mcp-go refused
	}
}

// nowhere drops an answer.
type nowhere struct{ header http.Header }

func (w nowhere) Header() http.Header         { return w.header }
func (w nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (w nowhere) WriteHeader(int)             {}

// find returns the session that r names, or the refusal. The revisions that it names in an error are the ones that
// mcp-go supports.
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
		s.byToken[token].MoveToBack(m.place)
		return m
	}
	return nil
}

// ResolveSessionIdManager implements server.SessionIdManagerResolver.
//
//nolint:revive // the name is mcp-go's
func (s *mcpSessions) ResolveSessionIdManager(r *http.Request) server.SessionIdManager { //nolint:staticcheck // the name is the library's
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
	m := &mcpSession{id: id, token: s.token}
	m.life, m.end = context.WithCancelCause(context.Background())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byID[id] = m
	if s.byToken[s.token] == nil {
		s.byToken[s.token] = list.New()
	}
	m.place = s.byToken[s.token].PushBack(m)
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
		if all := s.byToken[m.token]; all.Len() > 1 {
			all.Remove(m.place)
		} else {
			delete(s.byToken, m.token)
		}
	}
	return false, nil
}

// isModern reports whether a request belongs to a protocol revision without MCP sessions.
func isModern(r *http.Request, meta string) bool {
	return mcp.IsModernProtocol(meta) || mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion))
}

// errCancelled is the cause with which a request ends that its client has cancelled.
var errCancelled = errors.New("the client cancelled the request")

// inFlight are the requests of one MCP session that are not answered yet, by the keys of their ids. A client may give
// two requests the same id, although MCP forbids it: a cancellation then ends both. The zero value is ready to use.
type inFlight struct {
	mu    sync.Mutex // guards the following
	byKey map[string][]*context.CancelCauseFunc
}

// begin adds a request. end removes it.
func (f *inFlight) begin(key string, cancel context.CancelCauseFunc) (end func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byKey == nil {
		f.byKey = make(map[string][]*context.CancelCauseFunc)
	}
	f.byKey[key] = append(f.byKey[key], &cancel)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		rest := slices.DeleteFunc(f.byKey[key], func(c *context.CancelCauseFunc) bool { return c == &cancel })
		f.byKey[key] = rest
		if len(rest) == 0 {
			delete(f.byKey, key)
		}
	}
}

// cancel ends the request that the parameters of a notifications/cancelled name. One that is not in flight may have
// been answered in the meantime, and is ignored, as the protocol asks.
func (f *inFlight) cancel(params json.RawMessage) {
	var named struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &named) != nil {
		return
	}
	key, ok := jsonrpc.IDKey(named.RequestID)
	if !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, cancel := range f.byKey[key] {
		(*cancel)(errCancelled)
	}
}
