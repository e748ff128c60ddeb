// Package admin lets an operator drain a node over NATS.
//
//	answer, err := admin.Ask(ctx, nc, "ptyctl", "fra-1", admin.Request{Drain: true})
//
// A user with the right to publish to GROUP.v1.admin.NODE may drain that node. A node itself needs no such right,
// except for its own name if the operator of its machine is to drain it with its credentials.
package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

// A Request is an operator's request to a node.
type Request struct {
	Drain bool `json:"drain"` // false: take new sessions again
}

// An Answer is the state of the node after the request.
type Answer struct {
	Node     string `json:"node"`
	Draining bool   `json:"draining"`
	Sessions int    `json:"sessions"` // that have not ended
	Consoles int    `json:"consoles"` // of them
	Version  string `json:"version"`  // of the program
	Error    string `json:"error,omitempty"`
}

// Subject returns where a node takes requests.
func Subject(group, node string) string { return fmt.Sprintf("%s.v1.admin.%s", group, node) }

// maxRequest is the most bytes of a request.
const maxRequest = 4 << 10

// fromClient reports whether a request may come from a client of NATS, and not from JetStream. JetStream passes
// messages of a bucket on to any subject that a node names for an answer or a consumer, also to subjects to which the
// node may not publish. Such a message has no inbox for an answer.
func fromClient(m *nats.Msg) bool { return strings.HasPrefix(m.Reply, nats.InboxPrefix) }

// Serve has do answer requests to a node, one after another, until stop is called. The client library calls do in a
// goroutine of its own. stop waits for a request that is being answered: a node that ends because of it says so first.
func Serve(nc *nats.Conn, group, node string, do func(Request) Answer) (stop func(), err error) {
	var answering sync.Mutex
	s, err := nc.Subscribe(Subject(group, node), func(m *nats.Msg) {
		answering.Lock()
		defer answering.Unlock()
		if !fromClient(m) {
			return
		}
		var r Request
		var a Answer
		if len(m.Data) > maxRequest {
			a.Error = "the request is too long"
		} else if err := json.Unmarshal(m.Data, &r); err != nil {
			a.Error = "the request cannot be read"
		} else {
			a = do(r)
		}
		a.Node = node
		text, _ := json.Marshal(a) // of strings and numbers
		_ = m.Respond(text)        // a caller without an answer asks again: a request may be repeated
	})
	if err != nil {
		return nil, fmt.Errorf("admin: %w", err)
	}
	return func() {
		_ = s.Unsubscribe() // it may have ended with the connection
		answering.Lock()
		defer answering.Unlock()
	}, nil
}

// The errors of Ask, besides those of the network.
var (
	ErrNoNode    = errors.New("it does not run, or is cut off from the NATS servers")
	ErrForbidden = errors.New("these credentials may not do that: they need the right to publish to")
	ErrSilent    = errors.New("it gives no answer: it is stopped, cut off, or older than this program; ask again, " +
		"a request may be repeated")
)

// Ask sends a request to a node and waits for the answer until ctx ends. It takes the place of the connection's handler
// of errors.
func Ask(ctx context.Context, nc *nats.Conn, group, node string, r Request) (Answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	nc.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		if errors.Is(err, nats.ErrPermissionViolation) {
			cancel(fmt.Errorf("%w %s", ErrForbidden, Subject(group, node)))
		}
	})
	text, err := json.Marshal(r)
	if err != nil {
		return Answer{}, err
	}
	m, err := nc.RequestWithContext(ctx, Subject(group, node), text)
	cause := context.Cause(ctx)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return Answer{}, ErrNoNode
	case errors.Is(cause, ErrForbidden):
		return Answer{}, cause
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return Answer{}, ErrSilent
	case err != nil:
		return Answer{}, err
	}
	var a Answer
	if err := json.Unmarshal(m.Data, &a); err != nil {
		return Answer{}, fmt.Errorf("its answer cannot be read: %w", err)
	}
	if a.Error != "" {
		return a, fmt.Errorf("it refuses: %.300s", a.Error)
	}
	return a, nil
}
