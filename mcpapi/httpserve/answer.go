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

	"ptyctl/internal/mcpgo"
)

// Media types of answers.
const (
	jsonType  = "application/json"
	eventType = "text/event-stream"
	plainType = "text/plain"
)

// codeRefused is the JSON-RPC code of refusals. MCP leaves the range -32000 to -32019 to
// implementations.
const codeRefused = -32000

// A refusal is the reason why a request is not served, with the next step for the client.
type refusal struct {
	status  int
	code    int // JSON-RPC error code
	message string
	headers [][2]string
}

// refuse returns a refusal with the given HTTP status.
func refuse(status int, message string) *refusal {
	return &refusal{status: status, code: codeRefused, message: message}
}

// header adds an HTTP header to the refusal, for example Retry-After.
func (r *refusal) header(name, value string) { r.headers = append(r.headers, [2]string{name, value}) }

// An answer writes an HTTP response. Each write has its own deadline, so that a client
// that does not read cannot block the server, while a stream may be silent for as long as
// it likes. An error in plain text is sent as JSON.
type answer struct {
	rw      http.ResponseWriter
	control *http.ResponseController
	head    http.Header                 // set by the MCP server, while a call's notifications may already be written
	call    atomic.Pointer[callSession] // the call that has sent a notification; nil: none
	uri     json.RawMessage             // URI of the resource that is read, for the text of an error
	toCall  func(tool string) string    // words about an unknown tool, for a tools/call; nil: it answers another
	inBatch bool                        // the request is part of one that was read as a whole
	id      json.RawMessage             // of the request, for a refusal; nil: not known
	standIn *standIn                    // nil: mcp-go has the request's own id

	mu      sync.Mutex // guards the following: a call's notifications are written concurrently
	started bool       // the response has begun
	stream  bool       // the response is a stream of events
	hurried time.Time  // time of the last write deadline
	hold    bool       // send no byte before finish
	broken  bool       // an event could not be written
	status  int        // status of a response that is held back; 0: none
	body    bytes.Buffer
}

// newAnswer returns an answer that writes to w.
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

// writeHeaderLocked begins the response, or keeps the status if the response is held
// back. Requires w.mu.
func (w *answer) writeHeaderLocked(status int) {
	kind := w.head.Get("Content-Type")
	switch {
	case w.stream && strings.HasPrefix(kind, eventType): // mcp-go begins a stream that has begun already
	case w.stream, !w.started && (w.hold || status >= 400 && strings.HasPrefix(kind, plainType)):
		w.status = status
	case !w.started:
		w.hurry()
		w.started, w.stream = true, strings.HasPrefix(kind, eventType)
		maps.Copy(w.rw.Header(), w.head)
		w.rw.WriteHeader(status)
	}
}

// Write implements io.Writer. A response that is held back is collected in memory.
func (w *answer) Write(p []byte) (int, error) {
	w.flushCall()
	if told := mcpgo.Reword(p, w.toCall); !bytes.Equal(told, p) {
		_, err := w.write(told)
		return len(p), err
	}
	return w.write(p)
}

// write is Write of the bytes that the client gets.
func (w *answer) write(p []byte) (int, error) {
	if w.standIn == nil {
		return w.writeExactly(p)
	}
	_, err := w.writeExactly(w.standIn.restore(p))
	return len(p), err
}

// writeExactly is write of bytes that hold no placeholder for an id.
func (w *answer) writeExactly(p []byte) (int, error) {
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

// flushCall writes the pending notifications of the call, which must come before its
// answer.
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

// flushLocked sends buffered bytes to the client. Requires w.mu.
func (w *answer) flushLocked() {
	if w.status == 0 {
		w.hurry()
		_ = w.control.Flush() // a failed client ends the request's context
	}
}

// Unwrap gives http.ResponseController access to the connection.
func (w *answer) Unwrap() http.ResponseWriter { return w.rw }

// streamLocked begins a stream of events, unless the response has begun. Requires w.mu.
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

// eventLocked sends one event if the response is a stream. Requires w.mu.
func (w *answer) eventLocked(data []byte) {
	if !w.stream || w.status != 0 || w.broken {
		return
	}
	w.hurry()
	_, err := fmt.Fprintf(w.rw, "event: message\ndata: %s\n\n", data)
	w.broken = err != nil
	w.flushLocked()
}

// hurry extends the deadline of writes, at most once a second because that costs a system
// call. It ignores errors: only writers of tests have no deadlines. Requires w.mu.
func (w *answer) hurry() {
	if now := time.Now(); now.Sub(w.hurried) > time.Second {
		w.hurried = now
		_ = w.control.SetWriteDeadline(now.Add(writeTimeout))
	}
}

// finish sends the response that was held back, and the events that are still pending.
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
	case stream: // the answer to a call that has begun a stream
		w.mu.Lock()
		defer w.mu.Unlock()
		w.eventLocked(bytes.TrimSpace(body))
	case status >= 400 && strings.HasPrefix(w.Header().Get("Content-Type"), plainType):
		w.refuse(refuse(status, strings.TrimSpace(string(body))))
	default:
		if len(w.uri) > 0 {
			body = mcpgo.TellURI(body, w.uri)
		}
		w.WriteHeader(status)
		_, _ = w.Write(body) // a client that has gone needs no answer
	}
}

// held returns the part of a response that is held back so far.
func (w *answer) held() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.body.Bytes()
}

// refuse answers with a JSON-RPC error, unless the response has begun. It closes the
// connection, because the rest of the request is not read.
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
	// After the response, net/http reads up to 256 KiB of the rest of the body, so that a
	// client that still sends does not lose the answer to a reset. Without a deadline a slow
	// client could keep this going for days.
	_ = w.control.SetReadDeadline(time.Now().Add(lingerTimeout))
	var id mcp.RequestId // null
	if w.id != nil {
		id = mcp.NewRequestId(w.id)
	}
	body, err := json.Marshal(mcp.JSONRPCError{
		JSONRPC: mcp.JSONRPC_VERSION, ID: id, Error: mcp.JSONRPCErrorDetails{Code: r.code, Message: r.message},
	})
	if err != nil {
		panic(err) // strings and numbers can always be encoded
	}
	head := w.Header()
	head.Set("Content-Type", jsonType)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Connection", "close")
	for _, h := range r.headers {
		head.Set(h[0], h[1])
	}
	w.WriteHeader(r.status)
	_, _ = w.Write(append(body, '\n')) // a client that has gone needs no answer
}

// begun reports whether any part of the response was sent.
func (w *answer) begun() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.started
}

// answered reports whether there is a response, sent or held back.
func (w *answer) answered() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.started || w.status != 0
}
