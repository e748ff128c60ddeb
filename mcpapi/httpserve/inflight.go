package httpserve

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"ptyctl/mcpapi/jsonrpc"
)

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
