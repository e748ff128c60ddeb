package httpserve

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/server"
	"golang.org/x/time/rate"

	"ptyctl/mcpapi"
)

// Options adjust a Handler. The zero value lets everybody in who can connect: see Listen.
type Options struct {
	Tokens    []Token       // one of which every request must bear; none: no token is asked for
	ReadOnly  bool          // nobody may type, whatever the token says
	Isolate   bool          // a token knows only of the terminal sessions that it has opened
	Operator  bool          // who may type is the person who runs ptyctl: see term.Actor
	Transport string        // for the record; empty: "http"
	Hosts     []string      // names of this server besides loopback and the address that a client has connected to
	Origins   []string      // of web pages that may call, such as "https://example.net", besides those of this server
	MaxBody   int64         // bytes of one message; 0: 8 MiB
	MaxCalls  int           // requests served at a time, and as many open streams; 0: 256
	RateLimit int           // requests a second from one token, with bursts of five times as many; 0: no limit
	IdleTTL   time.Duration // how long an MCP session is kept that nobody uses; 0: 30 min
	Metrics   http.Handler  // served at /metrics; nil: nothing is
	Logger    *slog.Logger  // nil: silent
}

// Where things are.
const (
	Path        = "/mcp"
	healthPath  = "/healthz"
	AttachPath  = "/attach" // where a person at a terminal gets the proof that they are one, if Options.Operator is set
	metricsPath = "/metrics"
)

const (
	headerTimeout = 10 * time.Second // for a request's headers
	bodyTimeout   = 30 * time.Second // for its body
	writeTimeout  = 30 * time.Second // for each piece of an answer
	lingerTimeout = time.Second      // for what a client still sends that was refused
	idleTimeout   = 2 * time.Minute  // between two requests of a connection
	maxHeader     = 32 << 10
)

var (
	errShutdown   = errors.New("the server is shutting down")
	errSessionEnd = errors.New("the MCP session has ended")
)

// A Handler is the MCP server behind its guards. Make it with New, and end it with Close, or let Serve do that.
type Handler struct {
	o        Options
	srv      *server.MCPServer
	mcp      *server.StreamableHTTPServer
	tokens   keyring
	attached *mcpapi.Attachments // nil: no person is attached over this way
	tell     rate.Sometimes      // of wrong tokens: they must not fill the log
	sessions *mcpSessions
	calls    chan struct{} // one for each request that is served
	streams  chan struct{} // one for each open stream

	// End when the server is told to stop, first the streams, and then the calls that are still not done.
	streamsDone, callsDone context.Context
	endStreams, endCalls   context.CancelCauseFunc
}

// New makes a handler for the tools of srv. Any number of them may share srv, and its sessions.
func New(srv *server.MCPServer, o Options) *Handler {
	o.Transport = cmp.Or(o.Transport, "http")
	o.MaxBody = cmp.Or(o.MaxBody, 8<<20)
	o.MaxCalls = cmp.Or(o.MaxCalls, 256)
	o.IdleTTL = cmp.Or(o.IdleTTL, 30*time.Minute)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	h := &Handler{
		o: o, srv: srv, tell: rate.Sometimes{Interval: 10 * time.Second}, tokens: newKeyring(o.Tokens, o.RateLimit), sessions: newMCPSessions(),
		calls: make(chan struct{}, o.MaxCalls), streams: make(chan struct{}, o.MaxCalls),
	}
	if o.Operator {
		h.attached = mcpapi.NewAttachments()
	}
	h.streamsDone, h.endStreams = context.WithCancelCause(context.Background())
	h.callsDone, h.endCalls = context.WithCancelCause(context.Background())
	h.mcp = server.NewStreamableHTTPServer(srv,
		server.WithSessionIdManagerResolver(h.sessions),
		server.WithSessionIdleTTL(o.IdleTTL),
		// A ping through an open stream keeps its session from being idle, and finds out that a client is gone.
		server.WithHeartbeatInterval(min(30*time.Second, o.IdleTTL/3)),
		server.WithDisableLocalhostProtection(true), // guard does that, on every address
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

// warnings lets nothing less than warnings through: what mcp-go tells besides names MCP sessions that are in use, and who
// knows such a name is taken for its client where no token is asked for.
type warnings struct{ slog.Handler }

// Enabled implements slog.Handler.
func (w warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && w.Handler.Enabled(ctx, l)
}

// Close ends the open streams and lets no request in any more. Calls that are being served go on.
func (h *Handler) Close() {
	h.endStreams(errShutdown)
	_ = h.mcp.Shutdown(context.Background()) // it has no server of its own to wait for
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w := newAnswer(rw)
	defer w.finish()
	defer h.rescue(w, r)
	if r.URL.Path == healthPath {
		h.health(w, r)
		return
	}
	if err := h.route(w, r); err != nil {
		w.refuse(err)
	}
}

// route serves r, or says why not.
func (h *Handler) route(w *answer, r *http.Request) *refusal {
	serve := h.message
	switch {
	case r.URL.Path == metricsPath && h.o.Metrics != nil:
		serve = h.metrics
	case r.URL.Path == AttachPath && h.attached != nil:
		serve = h.attach
	case r.URL.Path != Path:
		return refuse(http.StatusNotFound, "there is nothing at this path; MCP is at "+Path)
	}
	if err := h.guard(r); err != nil {
		return err
	}
	t, err := h.tokens.of(r)
	if err != nil {
		h.tell.Do(func() {
			h.o.Logger.Warn(
				"a request without a right token was refused; more are not told of for a while",
				"from",
				r.RemoteAddr,
			)
		})
		return err
	}
	if h.streamsDone.Err() != nil {
		return refuse(http.StatusServiceUnavailable, "ptyctl is shutting down; connect again when it has been started again")
	}
	if err := t.mayGoOn(); err != nil {
		return err
	}
	return serve(w, r, t)
}

// health tells whoever asks that the process serves, and nothing else.
func (h *Handler) health(w *answer, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.refuse(notAllowed("GET, HEAD"))
		return
	}
	if h.streamsDone.Err() != nil {
		w.refuse(refuse(http.StatusServiceUnavailable, "ptyctl is shutting down"))
		return
	}
	w.Header().Set("Content-Type", jsonType)
	_, _ = w.Write([]byte("{\"status\":\"ok\"}\n"))
}

func (h *Handler) metrics(w *answer, r *http.Request, _ *key) *refusal {
	if r.Method != http.MethodGet {
		return notAllowed("GET")
	}
	h.o.Metrics.ServeHTTP(w, r)
	return nil
}

// rescue keeps a fault from more than the request that it happens in. The panic's text may hold what a handler was
// working on, and stays here.
func (h *Handler) rescue(w *answer, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	h.o.Logger.Error(
		"panic while serving an HTTP request; the server goes on",
		"method",
		r.Method,
		"path",
		r.URL.Path,
		"panic",
		p,
		"stack",
		string(debug.Stack()),
	)
	if w.begun() {
		panic(http.ErrAbortHandler) // half an answer must not look like a whole one
	}
	w.refuse(
		refuse(
			http.StatusInternalServerError,
			"the server failed while handling this request; its log has the details, other requests still work",
		),
	)
}

// caller is who sends r with this token.
func (h *Handler) caller(r *http.Request, t *key) (mcpapi.Caller, *refusal) {
	c := mcpapi.Caller{
		Transport: h.o.Transport,
		Token:     t.Name,
		ReadOnly:  h.o.ReadOnly || t.ReadOnly,
		Isolated:  h.o.Isolate,
		Operator:  h.o.Operator,
	}
	bad := h.attachment(r, &c)
	return c, bad
}

func notAllowed(methods string) *refusal {
	r := refuse(
		http.StatusMethodNotAllowed,
		"this method is not served here; use "+strings.ReplaceAll(methods, ", ", " or "),
	)
	r.header("Allow", methods)
	return r
}
