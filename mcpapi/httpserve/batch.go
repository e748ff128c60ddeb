package httpserve

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/internal/inorder"
	"ptyctl/mcpapi/jsonrpc"
)

// batch serves the messages of a JSON array as if each had come in a request of its own, at the same time, and answers
// with the array of their answers. Calls about the same terminal or file keep their order. Notifications of calls are
// dropped: there is no stream that would carry them.
func (h *Handler) batch(w *answer, r *http.Request, k *key, array json.RawMessage) *refusal {
	revision := r.Header.Get(mcp.HeaderProtocolVersion)
	if !isModern(r, "") { // a modern client has no session
		m, bad := h.sessions.find(r, k.Name)
		if bad != nil {
			return bad
		}
		revision = m.protocol()
	}
	messages, b, err := jsonrpc.ReadBatch(array, revision, h.o.MaxCalls)
	if err != nil {
		return invalid(err.Error())
	}
	var serving sync.WaitGroup
	whole := make(chan []byte, 1)
	calls := h.srv.Queue()
	for i, text := range messages {
		one := newInBatch(r, text)
		bad := h.mayBatch(one, k, i == 0, calls)
		serving.Go(func() {
			defer inorder.From(one.r.Context()).End()
			if line := b.Settle(h.serveInBatch(one, k, bad)); line != nil {
				whole <- line
			}
		})
	}
	serving.Wait()
	close(whole)
	line := <-whole
	if line == nil {
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(line) // a client that has gone needs no answer
	return nil
}

// mayBatch gives a tool call its turn in calls, and returns the reason why a message of a batch is not served. The rate
// limit has counted the first one already, as the request that brought all of them.
func (h *Handler) mayBatch(one *inBatch, k *key, first bool, calls *inorder.Queue) *refusal {
	e := envelope{body: one.text}
	bad := e.open()
	one.w.id = e.id
	if bad == nil && e.method == string(mcp.MethodToolsCall) {
		one.r = one.r.WithContext(inorder.With(one.r.Context(), calls.Join(e.params)))
	}
	switch {
	case bad != nil:
		return bad
	case e.batch != nil:
		return invalid("a batch must not be part of a batch; send each message by itself")
	case !jsonrpc.MayBatch(e.method):
		return invalid(e.method + " must not be part of a batch; send it by itself")
	case isModern(one.r, e.version):
		return invalid("a message of protocol revision " + e.version + " must not be part of a batch; send it by itself")
	case first:
		return nil
	}
	if bad := h.tokens.Load().limiter(k, connectionOf(one.r)).mayGoOn(); bad != nil && !h.unlimited(one.w, one.r) {
		return bad
	}
	return nil
}

// serveInBatch serves a message unless it is bad, and returns its answer, or nil if it has none.
func (h *Handler) serveInBatch(one *inBatch, k *key, bad *refusal) []byte {
	func() {
		defer one.w.finish()
		defer h.rescue(one.w, one.r)
		if bad == nil {
			bad = h.message(one.w, one.r, k)
		}
		if bad != nil {
			one.w.refuse(bad)
		}
	}()
	return one.answer()
}

// An inBatch is one message of a batch as a request of its own. It is the http.ResponseWriter of its answer.
type inBatch struct {
	text   json.RawMessage
	r      *http.Request
	w      *answer
	header http.Header
	body   bytes.Buffer
}

// newInBatch returns a message as a request with the headers of the request for the batch.
func newInBatch(r *http.Request, text json.RawMessage) *inBatch {
	one := &inBatch{text: text, r: r.Clone(r.Context()), header: make(http.Header)}
	one.r.Body, one.r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	one.w = newAnswer(one)
	one.w.inBatch = true
	return one
}

func (b *inBatch) Header() http.Header         { return b.header }
func (b *inBatch) Write(p []byte) (int, error) { return b.body.Write(p) }
func (b *inBatch) WriteHeader(int)             {}

// answer returns the answer to the message. In a stream of events it is the last one.
func (b *inBatch) answer() (answer []byte) {
	if !strings.HasPrefix(b.header.Get("Content-Type"), eventType) {
		return b.body.Bytes()
	}
	for line := range bytes.Lines(b.body.Bytes()) {
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		var e envelope
		if e.body = bytes.TrimSpace(data); ok && e.open() == nil && e.method == "" {
			answer = data
		}
	}
	return answer
}
