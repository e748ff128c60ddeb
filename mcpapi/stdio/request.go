package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/mcpapi/jsonrpc"
)

// requests are the server's own requests that the client has not answered yet, for example a question to the person.
// The zero value is ready to use.
type requests struct {
	mu      sync.Mutex // guards the following
	last    int
	waiting map[string]chan rpcMessage // by the id's key, see rpcMessage
}

// begin returns a new id, and a channel with room for its answer: the reader of the input must never block on it.
func (r *requests) begin() (id string, answer <-chan rpcMessage) {
	c := make(chan rpcMessage, 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	id = "ptyctl-" + strconv.Itoa(r.last)
	if r.waiting == nil {
		r.waiting = make(map[string]chan rpcMessage)
	}
	r.waiting[`"`+id] = c
	return id, c
}

// end gives the request up; a later answer to it is dropped.
func (r *requests) end(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, `"`+id)
}

// answer passes an answer to the request that waits for it, and drops an answer to no known request.
func (r *requests) answer(m rpcMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.waiting[m.key]; c != nil {
		delete(r.waiting, m.key) // a second answer is dropped
		c <- m
	}
}

// errClientRefused means that the client answered a request with an error.
var errClientRefused = errors.New("the client refused")

// RequestElicitation implements server.SessionWithElicitation. When ctx ends first, the client gets a
// notifications/cancelled for the question.
func (s *clientSession) RequestElicitation(
	ctx context.Context,
	req mcp.ElicitationRequest,
) (*mcp.ElicitationResult, error) {
	id, answer := s.asked.begin()
	defer s.asked.end(id)
	line, err := jsonrpc.EncodeLine(mcp.JSONRPCRequest{
		JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(id),
		Request: mcp.Request{Method: string(mcp.MethodElicitationCreate)}, Params: req.Params,
	})
	if err != nil {
		return nil, err
	}
	s.out.send(line)
	select {
	case m := <-answer:
		if m.Error != nil {
			return nil, fmt.Errorf("%w to ask: %.200s", errClientRefused, m.Error)
		}
		var result mcp.ElicitationResult
		err := json.Unmarshal(m.Result, &result)
		return &result, err
	case <-ctx.Done():
		n := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{
			Method: string(mcp.MethodNotificationCancelled),
			Params: mcp.NotificationParams{
				AdditionalFields: map[string]any{"requestId": id, "reason": "the question is no longer open"},
			},
		}}
		if line, err := jsonrpc.EncodeLine(n); err == nil {
			s.out.send(line)
		}
		return nil, context.Cause(ctx)
	case <-s.out.quit:
		return nil, errOutputBroken
	}
}
