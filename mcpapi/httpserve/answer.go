package httpserve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/mcpapi"
)

const (
	jsonType  = "application/json"
	eventType = "text/event-stream"
	plainType = "text/plain"
)

// codeRefused is from the range that MCP leaves to implementations, -32000 to -32019.
const codeRefused = -32000

// A refusal is why a request is not served, and what to do next.
type refusal struct {
	status  int
	code    int // JSON-RPC
	message string
	headers [][2]string
}

func refuse(status int, message string) *refusal {
	return &refusal{status: status, code: codeRefused, message: message}
}

func (r *refusal) header(name, value string) { r.headers = append(r.headers, [2]string{name, value}) }

// An answer writes a response. Each write has a deadline of its own, so that no client can hold the server by not
// reading, and a stream that is silent is no fault. Errors that come in plain text go out as JSON.
type answer struct {
	rw      http.ResponseWriter
	control *http.ResponseController
	head    http.Header                 // of the MCP server, which sets it while a call's notifications are written
	call    atomic.Pointer[callSession] // that has sent something; nil: none has
	uri     json.RawMessage             // of the resource that is read, if it is to be told in an error

	mu      sync.Mutex // guards the following: a call's notifications are written beside its answer
	started bool       // something is sent
	stream  bool       // as events
	hurried time.Time  // when the next write was last given its time
	hold    bool       // send nothing before finish
	broken  bool       // an event could not be written
	status  int        // of an answer that is held back; 0: there is none
	body    bytes.Buffer
}

func newAnswer(w http.ResponseWriter) *answer {
	return &answer{rw: w, control: http.NewResponseController(w), head: make(http.Header)}
}

// Header implements http.ResponseWriter.
func (w *answer) Header() http.Header { return w.head }

// WriteHeader implements http.ResponseWriter.
func (w *answer) WriteHeader(status int) {
	w.flushCall()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writeHeaderLocked(status)
}

func (w *answer) writeHeaderLocked(status int) {
	kind := w.head.Get("Content-Type")
	switch {
	case w.stream && strings.HasPrefix(kind, eventType): // mcp-go begins the stream that is there
	case w.stream, !w.started && (w.hold || status >= 400 && strings.HasPrefix(kind, plainType)):
		w.status = status
	case !w.started:
		w.hurry()
		w.started, w.stream = true, strings.HasPrefix(kind, eventType)
		maps.Copy(w.rw.Header(), w.head)
		w.rw.WriteHeader(status)
	}
}

func (w *answer) Write(p []byte) (int, error) {
	w.flushCall()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.started && w.status == 0 {
		w.writeHeaderLocked(http.StatusOK)
	}
	if w.status != 0 {
		return w.body.Write(p)
	}
	w.hurry()
	return w.rw.Write(p)
}

// flushCall lets what the call has sent go before what follows.
func (w *answer) flushCall() {
	if c := w.call.Load(); c != nil {
		c.flush()
	}
}

// Flush implements http.Flusher.
func (w *answer) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flushLocked()
}

func (w *answer) flushLocked() {
	if w.status == 0 {
		w.hurry()
		_ = w.control.Flush() // a client that is gone ends the request's context
	}
}

// Unwrap is for http.ResponseController.
func (w *answer) Unwrap() http.ResponseWriter { return w.rw }

// streamLocked begins a stream of events, if nothing has begun.
func (w *answer) streamLocked() {
	if w.started || w.status != 0 {
		return
	}
	w.started, w.stream = true, true
	w.rw.Header().Set("Content-Type", eventType)
	w.rw.Header().Set("Cache-Control", "no-cache")
	w.hurry()
	w.rw.WriteHeader(http.StatusOK)
}

// eventLocked sends one event, if there is a stream.
func (w *answer) eventLocked(data []byte) {
	if !w.stream || w.status != 0 || w.broken {
		return
	}
	w.hurry()
	_, err := fmt.Fprintf(w.rw, "event: message\ndata: %s\n\n", data)
	w.broken = err != nil
	w.flushLocked()
}

// hurry gives the next write its time. Writers that know no deadlines are those of tests. Requires w.mu.
func (w *answer) hurry() {
	if now := time.Now(); now.Sub(w.hurried) > time.Second {
		w.hurried = now
		_ = w.control.SetWriteDeadline(now.Add(writeTimeout))
	}
}

// finish sends what is held back.
func (w *answer) finish() {
	if c := w.call.Swap(nil); c != nil {
		c.end()
	}
	w.mu.Lock()
	status, body := w.status, w.body.Bytes()
	w.hold, w.status = false, 0
	stream := w.stream
	w.mu.Unlock()
	switch {
	case status == 0:
	case stream: // an answer for a stream that was begun before it
		w.mu.Lock()
		defer w.mu.Unlock()
		w.eventLocked(bytes.TrimSpace(body))
	case status >= 400 && strings.HasPrefix(w.Header().Get("Content-Type"), plainType):
		w.refuse(refuse(status, strings.TrimSpace(string(body))))
	default:
		if len(w.uri) > 0 {
			body = mcpapi.TellURI(body, w.uri)
		}
		w.WriteHeader(status)
		_, _ = w.Write(body) // a client that is gone needs no answer
	}
}

// refuse answers with a JSON-RPC error. The connection ends with it: what the client may still send is not read.
func (w *answer) refuse(r *refusal) {
	w.mu.Lock()
	started := w.started
	if !started {
		w.hold, w.status = false, 0
	}
	w.mu.Unlock()
	if started {
		return
	}
	// After the answer net/http takes in what is left of the body, up to 256 KiB, so that a client that is still sending
	// does not lose the answer to a reset. Without a deadline, a slow one could take days.
	_ = w.control.SetReadDeadline(time.Now().Add(lingerTimeout))
	body, err := json.Marshal(mcp.JSONRPCError{
		JSONRPC: mcp.JSONRPC_VERSION, Error: mcp.JSONRPCErrorDetails{Code: r.code, Message: r.message},
	})
	if err != nil {
		panic(err) // of strings and numbers: it always encodes
	}
	head := w.Header()
	head.Set("Content-Type", jsonType)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Connection", "close")
	for _, h := range r.headers {
		head.Set(h[0], h[1])
	}
	w.WriteHeader(r.status)
	_, _ = w.Write(append(body, '\n')) // a client that is gone needs no answer
}

// begun reports whether something is sent, and answered whether there is an answer, sent or held back.
func (w *answer) begun() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.started
}

func (w *answer) answered() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.started || w.status != 0
}
