package httpserve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/server"
	"golang.org/x/time/rate"

	"ptyctl/internal/faultlog"
	"ptyctl/internal/mcpgo"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/jsonrpc"
	"ptyctl/mcpapi/oauth"
	"ptyctl/term"
)

// Options configure a Handler. The zero value admits all who can connect, so it must only be served on an address that
// is safe; Listen checks this.
type Options struct {
	Tokens    []Token       // every request must carry one of them; empty, and no OAuth: no token is needed
	ReadOnly  bool          // no caller may type, whatever its token allows
	Isolate   bool          // a token sees only the terminal sessions that it has opened
	Operator  bool          // the caller is the person who runs ptyctl: see term.Actor
	Transport string        // name in the audit log; empty: "http"
	Hosts     []string      // names of this server, besides loopback and the address of the connection
	Origins   []string      // web pages that may call, for example "https://example.net", besides those of this server
	MaxBody   int64         // bytes of one message; 0: 8 MiB
	MaxCalls  int           // concurrent requests, and as many open streams; 0: 256
	Room      *jsonrpc.Room // for the bytes of these requests; nil: no limit
	RateLimit int           // requests per second and token, with bursts of 5 s; 0: no limit. No tokens: per connection
	IdleTTL   time.Duration // life of an unused MCP session; 0: 30 min
	Metrics   http.Handler  // handler of /metrics; nil: not found
	Logger    *slog.Logger  // nil: errors go to slog.Default

	// Watch streams the sessions to a person who watches, at WatchPath; nil: not found. Its requests count as streams.
	Watch http.Handler
	// People answers at /questions and /watch, for callers that have passed all checks; the context of a request carries its
	// identity.Caller. nil: not found.
	People http.Handler
	// Page serves people at PagePath and below it; nil: not found. See Page.
	Page Page
	// OAuth verifies access tokens, which requests may carry in place of Tokens. Its user closes it, after the handler.
	// nil: no access tokens.
	OAuth *oauth.Verifier

	// Ready returns nil if a load balancer may send new clients, and else why not, in words that may be public: they
	// are the answer at readyPath. It must not block. nil: always ready.
	Ready func() error

	// Identify adds facts about the caller of a request, from its connection. nil: it adds nothing.
	Identify func(net.Conn, *identity.Caller)
	// PeerPID returns the process at the other end of a connection, or 0 if it is unknown. nil: it is always unknown.
	PeerPID func(net.Conn) (int, error)

	// Unlimited reports whether a call of a tool is served even above RateLimit. nil: no call is.
	Unlimited func(tool string, arguments json.RawMessage) bool

	// Message returns the text of an error for a person at a command of ptyctl; see identity.Caller.
	// nil: no caller is one.
	Message func(*term.Error) string

	// Results is the default form of results. The query of a request can name another, as in /mcp?results=text. Empty:
	// the server's default.
	Results identity.Results
}

// Paths of the server. AttachPath answers only if Options.Operator is set: a person at a terminal gets the proof for
// AttachmentHeader there.
const (
	Path        = "/mcp"
	healthPath  = "/healthz" // the process serves requests
	readyPath   = "/readyz"  // and new clients may be sent to it
	AttachPath  = "/attach"
	WatchPath   = "/watch/stream"
	metricsPath = "/metrics"
)

// peoplePaths are the paths of Options.People.
var peoplePaths = []string{"/questions", "/watch"}

// Limits of a connection. They bound the resources that a slow or idle client can hold.
const (
	headerTimeout = 5 * time.Second  // to receive the headers of a request, the first one from the start
	bodyTimeout   = 30 * time.Second // to receive its body
	writeTimeout  = 30 * time.Second // for each write of an answer
	lingerTimeout = time.Second      // to drain the body of a refused request
	idleTimeout   = 2 * time.Minute  // between two requests on a connection
	maxHeader     = 32 << 10         // bytes
)

// Causes for which the server cancels a request.
var (
	errShutdown   = fmt.Errorf("the server is shutting down: %w", term.ErrStopping)
	errSessionEnd = errors.New("the MCP session has ended")
)

// A Handler is an http.Handler for an MCP server. Use New to make one. Close ends it,
// unless Serve has done that.
type Handler struct {
	o        Options
	srv      *mcpgo.Server
	mcp      *server.StreamableHTTPServer
	tokens   atomic.Pointer[keyring]
	subjects subjects
	setting  sync.Mutex            // held by SetTokens
	attached *identity.Attachments // nil: no attachments
	tell     rate.Sometimes        // limits the log entries about wrong tokens
	sessions *mcpSessions
	calls    chan struct{} // holds one element for each request being served
	streams  chan struct{} // holds one element for each open stream

	// Canceled when the server stops: first the streams, then the calls that are not done.
	streamsDone, callsDone context.Context
	endStreams, endCalls   context.CancelCauseFunc
}

// A Server is an MCP server to serve: a mcpapi.Server.
type Server interface{ Protocol() *mcpgo.Server }

// New returns a handler for s. Several handlers may share s; each has its own MCP
// sessions and limits.
func New(s Server, o Options) *Handler {
	o.Transport = cmp.Or(o.Transport, "http")
	o.MaxBody = cmp.Or(o.MaxBody, 8<<20)
	o.MaxCalls = cmp.Or(o.MaxCalls, 256)
	o.IdleTTL = cmp.Or(o.IdleTTL, 30*time.Minute)
	o.Logger = faultlog.Or(o.Logger)
	h := &Handler{
		o: o, srv: s.Protocol(), tell: rate.Sometimes{Interval: 10 * time.Second},
		sessions: newMCPSessions(len(o.Tokens)),
		calls:    make(chan struct{}, o.MaxCalls), streams: make(chan struct{}, o.MaxCalls),
	}
	keys := newKeyring(o.Tokens, o.RateLimit)
	keys.open = keys.open && o.OAuth == nil
	h.tokens.Store(&keys)
	h.endVisits(&keys)
	if o.Operator {
		h.attached = identity.NewAttachments()
	}
	h.streamsDone, h.endStreams = context.WithCancelCause(context.Background())
	h.callsDone, h.endCalls = context.WithCancelCause(context.Background())
	h.mcp = server.NewStreamableHTTPServer(h.srv.MCPServer,
		server.WithSessionIdManagerResolver(h.sessions),
		server.WithSessionIdleTTL(o.IdleTTL),
		// A ping on an open stream keeps its session in use and detects a client that has gone.
		server.WithHeartbeatInterval(min(30*time.Second, o.IdleTTL/3)),
		server.WithDisableLocalhostProtection(true), // guard checks it on every address
		server.WithStreamableHTTPLogger(slog.New(warnings{o.Logger.Handler()})),
		server.WithHTTPContextFunc(func(ctx context.Context, _ *http.Request) context.Context {
			if c, ok := ctx.Value(calledKey{}).(called); ok {
				return h.follow(ctx, c)
			}
			return ctx
		}),
	)
	return h
}

// warnings drops log entries below slog.LevelWarn. Some of mcp-go's entries contain the
// ids of active MCP sessions, and without tokens an id is enough to act as its client.
type warnings struct{ slog.Handler }

// Enabled implements slog.Handler.
func (w warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && w.Handler.Enabled(ctx, l)
}

// Close ends the open streams and refuses new requests. Calls in progress continue.
func (h *Handler) Close() {
	h.endStreams(errShutdown)
	_ = h.mcp.Shutdown(context.Background()) // never has a server of its own
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w := newAnswer(rw)
	c := connectionOf(r)
	if c != nil {
		defer c.done.Store(true) // unless it is admitted, it is closed now
	}
	defer w.finish()
	defer h.rescue(w, r)
	if r.URL.Path == healthPath || r.URL.Path == readyPath {
		h.health(w, r)
		return
	}
	if err := h.route(w, r); err != nil {
		w.refuse(err)
	}
}

// route serves r or returns the reason why not. The order of the checks is part of the
// package's promises.
func (h *Handler) route(w *answer, r *http.Request) *refusal {
	serve := h.message
	switch {
	case r.URL.Path == metricsPath && h.o.Metrics != nil:
		serve = h.metrics
	case r.URL.Path == AttachPath && h.attached != nil:
		serve = h.attach
	case h.o.People != nil && slices.Contains(peoplePaths, r.URL.Path):
		serve = h.people
	case r.URL.Path == WatchPath && h.o.Watch != nil:
		serve = h.watch
	case h.o.OAuth != nil && strings.HasPrefix(r.URL.Path, metadataPath):
		return h.metadata(w, r)
	case h.o.Page != nil && (r.URL.Path == strings.TrimSuffix(PagePath, "/") || strings.HasPrefix(r.URL.Path, PagePath)):
		return h.page(w, r)
	case r.URL.Path != Path:
		return refuse(http.StatusNotFound, "nothing at this path; MCP is at "+Path)
	}
	if err := h.guard(r); err != nil {
		return err
	}
	t, err := h.keyOf(r)
	if err != nil {
		if err.status != http.StatusServiceUnavailable {
			h.wrongToken(r, err.message)
		}
		return err
	}
	if t.issuer != "" {
		defer t.end(nil)
	}
	if t.Person {
		return refuse(http.StatusForbidden, "the token "+t.Name+" is a person's, for the page at "+PagePath+
			" alone; use one with the role read or write")
	}
	return h.admit(w, r, t, serve)
}

// wrongToken logs that a request has no valid token.
func (h *Handler) wrongToken(r *http.Request, why string) {
	h.tell.Do(func() {
		h.o.Logger.Warn("request refused: no valid token; further refusals are not logged for a while", "from", r.RemoteAddr,
			"why", why)
	})
}

// admit serves a request with a valid token, or returns the refusal. The request ends when the token is withdrawn.
func (h *Handler) admit(
	w *answer, r *http.Request, t *key, serve func(*answer, *http.Request, *key) *refusal,
) *refusal {
	if h.streamsDone.Err() != nil {
		return refuse(http.StatusServiceUnavailable, "ptyctl is shutting down; connect again after it has restarted")
	}
	c := connectionOf(r)
	if c != nil && !c.admit() {
		return refuse(http.StatusServiceUnavailable,
			"too many connections; close those that are not used, then send this again")
	}
	if err := h.tokens.Load().limiter(t, c).mayGoOn(); err != nil && !h.unlimited(w, r) {
		return err
	}
	if bad := drain(w, r); bad != nil {
		return bad
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(t.gone, func() { cancel(context.Cause(t.gone)) })()
	return serve(w, r.WithContext(ctx), t)
}

// health reports that the process serves requests, at readyPath also that new clients may come. It needs no token and
// must not reveal anything else.
func (h *Handler) health(w *answer, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.refuse(notAllowed("GET, HEAD"))
		return
	}
	if h.streamsDone.Err() != nil {
		w.refuse(refuse(http.StatusServiceUnavailable, "ptyctl is shutting down"))
		return
	}
	if r.URL.Path == readyPath && h.o.Ready != nil {
		if err := h.o.Ready(); err != nil {
			w.refuse(refuse(http.StatusServiceUnavailable, err.Error()))
			return
		}
	}
	w.Header().Set("Content-Type", jsonType)
	w.Header().Set("Connection", "close") // no token was needed, so the connection must not be kept
	_, _ = w.Write([]byte("{\"status\":\"ok\"}\n"))
}

// metrics serves Options.Metrics.
func (h *Handler) metrics(w *answer, r *http.Request, _ *key) *refusal {
	if r.Method != http.MethodGet {
		return notAllowed("GET")
	}
	h.o.Metrics.ServeHTTP(w, r)
	return nil
}

// people serves Options.People.
func (h *Handler) people(w *answer, r *http.Request, t *key) *refusal {
	c, bad := h.caller(r, t)
	if bad != nil {
		return bad
	}
	if r.Method == http.MethodPost { // a GET may wait for a change
		_ = w.control.SetReadDeadline(time.Now().Add(bodyTimeout))
		defer func() { _ = w.control.SetReadDeadline(time.Time{}) }()
	}
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	defer context.AfterFunc(h.streamsDone, stop)() // a request that waits for a change ends with the server
	h.o.People.ServeHTTP(w, r.WithContext(identity.WithCaller(ctx, c)))
	return nil
}

// rescue limits a panic to the request in which it happens. The panic's text may hold
// data of the request, so only the log gets it.
func (h *Handler) rescue(w *answer, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	h.o.Logger.Error("panic while serving an HTTP request; the server continues",
		"method", r.Method, "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
	if w.begun() {
		panic(http.ErrAbortHandler) // a partial response must not look complete
	}
	w.refuse(refuse(http.StatusInternalServerError,
		"the server failed while it handled this request: the cause is in its log; other requests still work"))
}

// caller identifies the sender of r.
func (h *Handler) caller(r *http.Request, t *key) (identity.Caller, *refusal) {
	c := identity.Caller{
		Transport: h.o.Transport,
		Token:     t.Name,
		Issuer:    t.issuer,
		ReadOnly:  h.o.ReadOnly || t.ReadOnly,
		Isolated:  h.o.Isolate,
		Operator:  h.o.Operator,
		Message:   h.o.Message,
		Results:   h.o.Results,
	}
	if bad := askedResults(r, &c); bad != nil {
		return c, bad
	}
	conn := connectionOf(r)
	if conn != nil && h.o.Identify != nil {
		h.o.Identify(conn.Conn, &c)
	}
	if conn != nil && h.o.PeerPID != nil {
		pid, err := h.o.PeerPID(conn.Conn)
		if err != nil {
			pid = -1 // not a process, so it gets no rights that depend on one
		}
		c.PID = pid
	}
	bad := h.attachment(r, &c)
	return c, bad
}

// askedResults sets the form of results that the query of r asks for.
func askedResults(r *http.Request, c *identity.Caller) *refusal {
	asked := identity.Results(r.URL.Query().Get("results"))
	switch {
	case asked == "":
	case slices.Contains(identity.Forms(), asked):
		c.Results = asked
	default:
		return refuse(http.StatusBadRequest, "no such form of results; use /mcp?results=compact, full or text")
	}
	return nil
}

// notAllowed refuses a method. RFC 9110 section 15.5.6 demands the header Allow.
func notAllowed(methods string) *refusal {
	r := refuse(
		http.StatusMethodNotAllowed,
		"this method is not served here; use "+strings.ReplaceAll(methods, ", ", " or "),
	)
	r.header("Allow", methods)
	return r
}
