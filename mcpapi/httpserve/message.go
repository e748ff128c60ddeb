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
	answerKey struct{}
)

// tokenFrom returns the name of the token that the request of ctx bears.
func tokenFrom(ctx context.Context) string {
	name, _ := ctx.Value(tokenKey{}).(string)
	return name
}

// message serves a request of MCP's streamable HTTP transport.
func (h *Handler) message(w *answer, r *http.Request, k *key) *refusal {
	var m *mcpSession
	stream, call := false, false
	switch r.Method {
	case http.MethodPost:
		sent, err := h.read(w, r)
		if err != nil {
			return err
		}
		modern := isModern(r, sent.Params.Meta.Version)
		call = sent.Method == string(mcp.MethodToolsCall)
		if sent.Method == string(mcp.MethodResourcesRead) {
			w.hold, w.uri = true, sent.Params.URI
		}
		switch {
		case modern && sent.Method == string(mcp.MethodNotificationCancelled):
			// It has no meaning there, since a call ends with its connection; but a client that sends it, and is told
			// that it is wrong, gives up on the server.
			w.WriteHeader(http.StatusAccepted)
			return nil
		case modern:
			stream = sent.Method == string(mcp.MethodSubscriptionsListen)
		case sent.Method == string(mcp.MethodInitialize):
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
	room, done := h.calls, h.callsDone
	if stream {
		room, done = h.streams, h.streamsDone
	}
	select {
	case room <- struct{}{}:
		defer func() { <-room }()
	default:
		err := refuse(http.StatusServiceUnavailable, strconv.Itoa(cap(room))+" requests are being served, which is the limit (limits.max_in_flight); wait for an answer, then send this again")
		err.header("Retry-After", "1")
		return err
	}
	ctx := context.WithValue(mcpapi.WithCaller(r.Context(), h.caller(k)), tokenKey{}, k.Name)
	if call {
		ctx = context.WithValue(ctx, answerKey{}, w)
	}
	if r.Method != http.MethodGet {
		m = nil // only a stream ends with its session
	}
	return h.handOver(ctx, done, w, r, m)
}

// handOver lets the MCP server answer, as long as done and m, if it is not nil, last.
func (h *Handler) handOver(ctx, done context.Context, w *answer, r *http.Request, m *mcpSession) *refusal {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(done, func() { cancel(errShutdown) })()
	if m != nil {
		defer context.AfterFunc(m.life, func() { cancel(errSessionEnd) })()
	}
	h.mcp.ServeHTTP(w, r.WithContext(ctx))
	if !w.answered() && errors.Is(context.Cause(ctx), errShutdown) {
		return refuse(http.StatusServiceUnavailable, "the server shut down before this request ended; whether it took effect is unknown")
	}
	return nil
}

// envelope is what must be known of a message before the MCP server has it.
type envelope struct {
	Method string
	Params struct {
		URI  json.RawMessage
		Meta struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	}
}

// read takes the body of r into memory, where the MCP server finds it.
func (h *Handler) read(w *answer, r *http.Request) (e envelope, bad *refusal) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != jsonType {
		return e, refuse(http.StatusUnsupportedMediaType, "send a JSON-RPC message, with the header Content-Type: "+jsonType)
	}
	tooLarge := refuse(http.StatusRequestEntityTooLarge, "a message may have at most "+strconv.FormatInt(h.o.MaxBody, 10)+" bytes (limits.max_message_bytes); send less in one message")
	if r.ContentLength > h.o.MaxBody {
		return e, tooLarge
	}
	// Not by http.Server.ReadTimeout, which would end long calls too. Readers that know no deadlines are those of tests.
	_ = w.control.SetReadDeadline(time.Now().Add(bodyTimeout))
	buf := bytes.NewBuffer(make([]byte, 0, min(max(r.ContentLength, 0), 64<<10)+bytes.MinRead)) // what is announced may never come
	_, err := buf.ReadFrom(http.MaxBytesReader(w.rw, r.Body, h.o.MaxBody))
	body := buf.Bytes()
	_ = w.control.SetReadDeadline(time.Time{})
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return e, tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return e, refuse(http.StatusRequestTimeout, "the message did not come within "+bodyTimeout.String()+"; send it at once")
	case err != nil:
		return e, refuse(http.StatusBadRequest, "the message did not come whole; send it again")
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	switch err := json.Unmarshal(body, &e); {
	case err == nil:
	case len(bytes.TrimSpace(body)) > 0 && bytes.TrimSpace(body)[0] == '[' && json.Valid(body):
		bad = refuse(http.StatusBadRequest, "batches are not supported; send each request by itself")
		bad.code = mcp.INVALID_REQUEST
	case errors.As(err, new(*json.UnmarshalTypeError)):
		bad = refuse(http.StatusBadRequest, "the message is not a JSON-RPC object; its method must be a string, its params an object")
		bad.code = mcp.INVALID_REQUEST
	default:
		bad = refuse(http.StatusBadRequest, "the message is not valid JSON; send one JSON object")
		bad.code = mcp.PARSE_ERROR
	}
	return e, bad
}
