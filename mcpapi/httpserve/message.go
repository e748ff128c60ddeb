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
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"ptyctl/internal/mcpgo"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/jsonrpc"
	"ptyctl/term"
)

// Keys of values in a request's context.
type (
	tokenKey  struct{}
	calledKey struct{}
)

// called holds the state that belongs to a tool call.
type called struct {
	w *answer
	m *mcpSession // nil in protocol revisions without MCP sessions
}

// tokenFrom returns the name of the token of the request to which ctx belongs.
func tokenFrom(ctx context.Context) string {
	name, _ := ctx.Value(tokenKey{}).(string)
	return name
}

// message serves a request of MCP's streamable HTTP transport. Before mcp-go sees the
// request, it must pass the checks that are missing there: the owner of the session, the
// limits, and the form of the message.
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
		defer sent.leave()
		if sent.batch != nil {
			return h.batch(w, r, k, sent.batch)
		}
		modern := isModern(r, sent.version)
		call = sent.method == string(mcp.MethodToolsCall)
		if sent.method == string(mcp.MethodResourcesRead) {
			w.hold, w.uri = true, sent.uri
		}
		switch {
		case modern && sent.method == string(mcp.MethodNotificationCancelled):
			// In this revision a call is canceled with its connection, so the message has no
			// effect. It must still be accepted: some clients give up on a server that refuses it.
			w.WriteHeader(http.StatusAccepted)
			return nil
		case modern:
			stream = sent.method == string(mcp.MethodSubscriptionsListen)
		case sent.method == string(mcp.MethodInitialize):
			h.makeRoom(r.Context(), k.Name)
			w.hold = true // the client may use the session before mcp-go has registered it
		default:
			if m, err = h.sessions.find(r, k.Name); err != nil {
				return err
			}
			if sent.method == string(mcp.MethodNotificationCancelled) && !sent.hasID() {
				m.calls.cancel(sent.params)
				w.WriteHeader(http.StatusAccepted)
				return nil
			}
		}
	case http.MethodGet, http.MethodDelete:
		if !isModern(r, "") { // mcp-go refuses other requests of this revision
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
	env, refused := h.environment(r)
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
		err := refuse(http.StatusServiceUnavailable, "limit of "+strconv.Itoa(cap(room))+
			" concurrent requests reached (limits.max_in_flight); wait for an answer, then send this again")
		err.header("Retry-After", "1")
		return err
	}
	ctx, cancel := context.WithCancelCause(term.WithEnvironment(identity.WithCaller(r.Context(), caller), env))
	defer cancel(nil)
	direct := m.partner()
	if !call || !sent.hasID() {
		direct = nil
	}
	if call && direct == nil { // its tool ends, and mcp-go answers
		ctx = mcpgo.WithStop(ctx, done)
	} else {
		defer context.AfterFunc(done, func() { cancel(errShutdown) })()
	}
	if stream && m != nil { // only a stream ends with its session
		m.open.Add(1)
		defer m.open.Add(-1)
		defer context.AfterFunc(m.life, func() { cancel(errSessionEnd) })()
	}
	if m != nil && sent.hasID() && sent.method != "" {
		defer m.calls.begin(sent.key, cancel)()
	}
	if call {
		w.toCall = func(tool string) string { return h.srv.Unknown(ctx, tool) }
	}
	if direct != nil {
		h.answerCall(ctx, w, direct, sent.id, sent.body)
	} else {
		ctx = context.WithValue(ctx, tokenKey{}, k.Name)
		if call {
			ctx = context.WithValue(ctx, calledKey{}, called{w, m})
		}
		h.mcp.ServeHTTP(w, r.WithContext(ctx))
	}
	if sent.method == string(mcp.MethodInitialize) {
		h.sessions.settle(w.Header().Get(server.HeaderKeySessionID), k.Name, w.held())
	}
	switch cause := context.Cause(ctx); {
	case w.answered():
	case errors.Is(cause, errCancelled):
		// A cancelled request gets no answer: this status has no body, and clients expect none.
		w.WriteHeader(http.StatusAccepted)
	case errors.Is(cause, errShutdown):
		return refuse(
			http.StatusServiceUnavailable,
			"the server shut down before this request ended; whether it took effect is unknown",
		)
	}
	return nil
}

// envelope holds the parts of a message that the checks need.
type envelope struct {
	body    []byte          // the whole message
	leave   func()          // gives its part of Options.Room back
	batch   json.RawMessage // the array, instead of the following; nil: no batch
	id      json.RawMessage // nil: none
	key     string          // identifies id among the requests in flight
	method  string
	params  json.RawMessage
	uri     json.RawMessage // from params
	version string          // protocol revision, from params._meta
}

// hasID reports whether the message is a request, which needs an answer. A message
// without an id is a notification.
func (e *envelope) hasID() bool { return e.id != nil }

// takeRoom takes the room of a message before it is read. A body of unknown length takes as much as it may have.
func (h *Handler) takeRoom(w *answer, r *http.Request) (leave func(), ok bool) {
	switch {
	case w.inBatch: // the batch has taken it
		return func() {}, true
	case r.ContentLength < 0:
		return h.o.Room.Take(h.o.MaxBody)
	}
	return h.o.Room.Take(r.ContentLength)
}

// read reads the body of r into memory and gives r a copy for mcp-go.
func (h *Handler) read(w *answer, r *http.Request) (e envelope, bad *refusal) {
	if kind := r.Header.Get("Content-Type"); kind != jsonType && !isJSON(kind) {
		return e, refuse(
			http.StatusUnsupportedMediaType,
			"send a JSON-RPC message, with the header Content-Type: "+jsonType,
		)
	}
	tooLarge := refuse(http.StatusRequestEntityTooLarge, "message too large: at most "+
		strconv.FormatInt(h.o.MaxBody, 10)+" bytes are allowed (limits.max_message_bytes); send less in one message")
	if r.ContentLength > h.o.MaxBody {
		if r.Header.Get("Expect") == "" { // the client sends without being asked
			w.id = h.idOfLong(w, nil, r)
		}
		return e, tooLarge
	}
	var ok bool
	if e.leave, ok = h.takeRoom(w, r); !ok {
		if r.Header.Get("Expect") == "" {
			w.id = h.idOfLong(w, nil, r)
		}
		full := refuse(http.StatusServiceUnavailable, h.o.Room.Full())
		full.header("Retry-After", "1")
		return e, full
	}
	defer func() {
		if bad != nil {
			e.leave()
		}
	}()
	// http.Server.ReadTimeout would also end long calls, so the deadline covers only the
	// body. Errors are ignored: only readers of tests have no deadlines.
	_ = w.control.SetReadDeadline(time.Now().Add(bodyTimeout))
	// The client may announce more than it sends, so at most 64 KiB are allocated in advance.
	buf := bytes.NewBuffer(make([]byte, 0, min(max(r.ContentLength, 0), 64<<10)+bytes.MinRead))
	_, err := buf.ReadFrom(io.LimitReader(r.Body, h.o.MaxBody+1))
	body := buf.Bytes()
	_ = w.control.SetReadDeadline(time.Time{})
	switch {
	case err == nil && int64(len(body)) > h.o.MaxBody:
		w.id = h.idOfLong(w, body, r)
		return e, tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return e, refuse(http.StatusRequestTimeout,
			"message incomplete after "+bodyTimeout.String()+"; send it without delays")
	case err != nil:
		return e, refuse(http.StatusBadRequest, "message incomplete; send it again")
	}
	e.body = body
	bad = e.open()
	w.id = e.id
	if bad != nil {
		return e, bad
	}
	if e.batch != nil {
		return e, nil
	}
	body, w.standIn = e.replaceID()
	r.Body = io.NopCloser(bytes.NewReader(body))
	return e, nil
}

// invalid refuses JSON that is not a message.
func invalid(why string) *refusal {
	bad := refuse(http.StatusBadRequest, why)
	bad.code = mcp.INVALID_REQUEST
	return bad
}

// open parses the message into e. Its errors are JSON-RPC errors with the codes of the
// specification.
func (e *envelope) open() *refusal {
	const shape = "the message is not a JSON-RPC object; its method must be a string, its params an object"
	switch text := bytes.TrimLeft(e.body, jsonrpc.Space); {
	case !utf8.Valid(e.body):
		bad := refuse(http.StatusBadRequest, "the message is not valid UTF-8; send JSON encoded as UTF-8")
		bad.code = mcp.PARSE_ERROR
		return bad
	case !jsonrpc.Valid(e.body):
		bad := refuse(http.StatusBadRequest, "the message is not valid JSON; send one JSON object")
		if jsonrpc.TooDeep(e.body) {
			bad.message = jsonrpc.TooDeepText
		}
		bad.code = mcp.PARSE_ERROR
		return bad
	case text[0] == '[':
		e.batch = text
		return nil
	case text[0] != '{':
		return invalid(shape)
	}
	method, id, params := jsonrpc.Want{Name: "method"}, jsonrpc.Want{Name: "id"}, jsonrpc.Want{Name: "params"}
	uri, meta := jsonrpc.Want{Name: "uri"}, jsonrpc.Want{Name: "_meta"}
	version := jsonrpc.Want{Name: mcp.MetaKeyProtocolVersion}
	err := jsonrpc.Pick(bytes.TrimLeft(e.body, jsonrpc.Space), &method, &id, &params)
	if id.Value != nil {
		key, ok := jsonrpc.IDKey(id.Value)
		if !ok {
			return invalid(jsonrpc.WrongID(id.Value))
		}
		e.id, e.key = id.Value, key
	}
	for _, part := range []struct {
		of    *jsonrpc.Want
		wants []*jsonrpc.Want
	}{{&params, []*jsonrpc.Want{&uri, &meta}}, {&meta, []*jsonrpc.Want{&version}}} {
		switch object := part.of.Value; {
		case err != nil || object == nil || string(object) == "null":
		case object[0] != '{':
			return invalid(shape)
		default:
			err = jsonrpc.Pick(object, part.wants...)
		}
	}
	if err != nil {
		return invalid("the message is not a JSON-RPC object: " + err.Error())
	}
	if !text(method.Value, &e.method) || !text(version.Value, &e.version) {
		return invalid(shape)
	}
	e.uri, e.params = uri.Value, params.Value
	return nil
}

// text decodes a string that may be absent. It reports false for any other JSON value.
func text(value json.RawMessage, into *string) bool {
	return value == nil || json.Unmarshal(value, into) == nil
}

// isJSON reports whether a media type is JSON. Parameters, for example a charset, are
// ignored.
func isJSON(kind string) bool {
	kind, _, err := mime.ParseMediaType(kind)
	return err == nil && kind == jsonType
}
