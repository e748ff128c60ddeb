package httpserve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/mcpapi"
)

type (
	tokenKey  struct{}
	calledKey struct{}
)

// called is what belongs to a tool call.
type called struct {
	w *answer
	m *mcpSession // nil in revisions without
}

// tokenFrom returns the name of the token that the request of ctx bears.
func tokenFrom(ctx context.Context) string {
	name, _ := ctx.Value(tokenKey{}).(string)
	return name
}

// message serves a request of MCP's streamable HTTP transport.
func (h *Handler) message(w *answer, r *http.Request, k *key) *refusal {
	var m *mcpSession
	var sent envelope
	stream, call := false, false
	switch r.Method {
	case http.MethodPost:
		var err *refusal
		if sent, err = h.read(w, r); err != nil {
			return err
		}
		modern := isModern(r, sent.version)
		call = sent.method == string(mcp.MethodToolsCall)
		if sent.method == string(mcp.MethodResourcesRead) {
			w.hold, w.uri = true, sent.uri
		}
		switch {
		case modern && sent.method == string(mcp.MethodNotificationCancelled):
			// It has no meaning there, since a call ends with its connection; but a client that sends it, and is told
			// that it is wrong, gives up on the server.
			w.WriteHeader(http.StatusAccepted)
			return nil
		case modern:
			stream = sent.method == string(mcp.MethodSubscriptionsListen)
		case sent.method == string(mcp.MethodInitialize):
			if err := h.sessions.full(); err != nil {
				return err
			}
			w.hold = true // mcp-go makes its session known after the answer, and the client's next request may be faster
		default:
			if m, err = h.sessions.find(r, k.Name); err != nil {
				return err
			}
		}
	case http.MethodGet, http.MethodDelete:
		if !isModern(r, "") { // mcp-go refuses it otherwise
			var err *refusal
			if m, err = h.sessions.find(r, k.Name); err != nil {
				return err
			}
			stream = r.Method == http.MethodGet
		}
	default:
		return notAllowed("GET, POST, DELETE")
	}
	caller, refused := h.caller(r, k)
	if refused != nil {
		return refused
	}
	room, done := h.calls, h.callsDone
	if stream {
		room, done = h.streams, h.streamsDone
	}
	select {
	case room <- struct{}{}:
		defer func() { <-room }()
	default:
		err := refuse(
			http.StatusServiceUnavailable,
			strconv.Itoa(
				cap(room),
			)+" requests are being served, which is the limit (limits.max_in_flight); wait for an answer, then send this again",
		)
		err.header("Retry-After", "1")
		return err
	}
	ctx, cancel := context.WithCancelCause(mcpapi.WithCaller(r.Context(), caller))
	defer cancel(nil)
	defer context.AfterFunc(done, func() { cancel(errShutdown) })()
	if stream && m != nil { // nothing else ends with its session
		defer context.AfterFunc(m.life, func() { cancel(errSessionEnd) })()
	}
	if s := m.partner(); s != nil && call && sent.hasID() {
		h.answerCall(ctx, w, s, sent.id, sent.body)
	} else {
		ctx = context.WithValue(ctx, tokenKey{}, k.Name)
		if call {
			ctx = context.WithValue(ctx, calledKey{}, called{w, m})
		}
		h.mcp.ServeHTTP(w, r.WithContext(ctx))
	}
	if !w.answered() && errors.Is(context.Cause(ctx), errShutdown) {
		return refuse(
			http.StatusServiceUnavailable,
			"the server shut down before this request ended; whether it took effect is unknown",
		)
	}
	return nil
}

// envelope is what must be known of a message before the MCP server has it.
type envelope struct {
	body    []byte // all of the message
	id      json.RawMessage
	method  string
	uri     json.RawMessage // of params
	version string          // of params._meta: the protocol revision
}

// hasID reports whether the message is answered.
func (e *envelope) hasID() bool { return len(e.id) > 0 && string(e.id) != "null" }

// read takes the body of r into memory, where the MCP server finds it.
func (h *Handler) read(w *answer, r *http.Request) (e envelope, bad *refusal) {
	if kind := r.Header.Get("Content-Type"); kind != jsonType && !isJSON(kind) {
		return e, refuse(http.StatusUnsupportedMediaType, "send a JSON-RPC message, with the header Content-Type: "+jsonType)
	}
	tooLarge := refuse(
		http.StatusRequestEntityTooLarge,
		"a message may have at most "+strconv.FormatInt(
			h.o.MaxBody,
			10,
		)+" bytes (limits.max_message_bytes); send less in one message",
	)
	if r.ContentLength > h.o.MaxBody {
		return e, tooLarge
	}
	// Not by http.Server.ReadTimeout, which would end long calls too. Readers that know no deadlines are those of tests.
	_ = w.control.SetReadDeadline(time.Now().Add(bodyTimeout))
	buf := bytes.NewBuffer(
		make([]byte, 0, min(max(r.ContentLength, 0), 64<<10)+bytes.MinRead),
	) // what is announced may never come
	_, err := buf.ReadFrom(http.MaxBytesReader(w.rw, r.Body, h.o.MaxBody))
	body := buf.Bytes()
	_ = w.control.SetReadDeadline(time.Time{})
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return e, tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return e, refuse(
			http.StatusRequestTimeout,
			"the message did not come within "+bodyTimeout.String()+"; send it at once",
		)
	case err != nil:
		return e, refuse(http.StatusBadRequest, "the message did not come whole; send it again")
	}
	r.Body, e.body = io.NopCloser(bytes.NewReader(body)), body
	return e, e.open()
}

// open takes the message apart.
func (e *envelope) open() *refusal {
	invalid := func(why string) *refusal {
		bad := refuse(http.StatusBadRequest, why)
		bad.code = mcp.INVALID_REQUEST
		return bad
	}
	const shape = "the message is not a JSON-RPC object; its method must be a string, its params an object"
	switch text := bytes.TrimLeft(e.body, " \t\r\n"); {
	case !json.Valid(e.body):
		bad := refuse(http.StatusBadRequest, "the message is not valid JSON; send one JSON object")
		bad.code = mcp.PARSE_ERROR
		return bad
	case text[0] == '[':
		return invalid("batches are not supported; send each request by itself")
	case text[0] != '{':
		return invalid(shape)
	}
	method, id, params := mcpapi.Want{Name: "method"}, mcpapi.Want{Name: "id"}, mcpapi.Want{Name: "params"}
	uri, meta, version := mcpapi.Want{
		Name: "uri",
	}, mcpapi.Want{
		Name: "_meta",
	}, mcpapi.Want{
		Name: mcp.MetaKeyProtocolVersion,
	}
	err := mcpapi.Pick(bytes.TrimLeft(e.body, " \t\r\n"), &method, &id, &params)
	for _, part := range []struct {
		of    *mcpapi.Want
		wants []*mcpapi.Want
	}{{&params, []*mcpapi.Want{&uri, &meta}}, {&meta, []*mcpapi.Want{&version}}} {
		switch object := part.of.Value; {
		case err != nil || object == nil || string(object) == "null":
		case object[0] != '{':
			return invalid(shape)
		default:
			err = mcpapi.Pick(object, part.wants...)
		}
	}
	if err != nil {
		return invalid("the message is not a JSON-RPC object: " + err.Error())
	}
	if !text(method.Value, &e.method) || !text(version.Value, &e.version) {
		return invalid(shape)
	}
	e.id, e.uri = id.Value, uri.Value
	return nil
}

// text reads a string that may be absent, and reports whether it is one.
func text(value json.RawMessage, into *string) bool {
	return value == nil || json.Unmarshal(value, into) == nil
}

// isJSON reports whether a media type is JSON, whatever its parameters.
func isJSON(kind string) bool {
	kind, _, err := mime.ParseMediaType(kind)
	return err == nil && kind == jsonType
}
