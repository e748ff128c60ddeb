package httpserve

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

const jsonType = "application/json"

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
	http.ResponseWriter
	control *http.ResponseController
	started bool // something is sent

	hold   bool // send nothing before finish
	status int  // of an answer that is held back; 0: there is none
	body   bytes.Buffer
}

func newAnswer(w http.ResponseWriter) *answer {
	return &answer{ResponseWriter: w, control: http.NewResponseController(w)}
}

func (w *answer) WriteHeader(status int) {
	if !w.started && (w.hold || w.plainError(status)) {
		w.status = status
		return
	}
	w.hurry()
	w.started = true
	w.ResponseWriter.WriteHeader(status)
}

func (w *answer) Write(p []byte) (int, error) {
	if w.status != 0 {
		return w.body.Write(p)
	}
	w.hurry()
	w.started = true
	return w.ResponseWriter.Write(p)
}

// Flush implements http.Flusher.
func (w *answer) Flush() {
	if w.status == 0 {
		w.hurry()
		_ = w.control.Flush() // a client that is gone ends the request's context
	}
}

// Unwrap is for http.ResponseController.
func (w *answer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *answer) plainError(status int) bool {
	return status >= 400 && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain")
}

// hurry gives the next write its time. Writers that know no deadlines are those of tests.
func (w *answer) hurry() { _ = w.control.SetWriteDeadline(time.Now().Add(writeTimeout)) }

// finish sends what is held back.
func (w *answer) finish() {
	status := w.status
	if status == 0 {
		return
	}
	if w.plainError(status) {
		w.refuse(refuse(status, strings.TrimSpace(w.body.String())))
		return
	}
	w.hold, w.status = false, 0
	w.WriteHeader(status)
	_, _ = w.Write(w.body.Bytes()) // a client that is gone needs no answer
}

// refuse answers with a JSON-RPC error. The connection ends with it: what the client may still send is not read.
func (w *answer) refuse(r *refusal) {
	if w.started {
		return
	}
	w.hold, w.status = false, 0
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
