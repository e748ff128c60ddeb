package route

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"ptyctl/mcpapi/peers"
	"ptyctl/term"
)

// A sent call waits for its answer.
type sent struct {
	node   string
	client peers.Client

	room *room // for what waits

	news chan struct{} // holds one token: the following has changed

	mu    sync.Mutex // guards the following
	queue []*nats.Msg
	size  int // of the queue, as it counts in room
	whole int // of the result so far, likewise
	err   error
	ended bool
}

// fail ends the wait with an error, unless it has ended.
func (c *sent) fail(err error) {
	c.mu.Lock()
	if c.err == nil {
		c.err = err
	}
	c.mu.Unlock()
	c.wake()
}

// messageCost is about how many bytes a message in the queue takes besides its body.
const messageCost = 512

// add takes a message of the owner's.
func (c *sent) add(m *nats.Msg) {
	c.mu.Lock()
	n := len(m.Data) + messageCost
	switch {
	case c.ended || c.err != nil:
	case c.size+c.whole+n > maxBody:
		c.err = &term.Error{Kind: term.LimitExceeded, Msg: fmt.Sprintf("the result of node %s has more than %d bytes", c.node, maxBody)}
	case !c.room.take(c.node, n):
		c.err = &term.Error{
			Kind: term.LimitExceeded,
			Msg: fmt.Sprintf("results that are on their way take more than %d MiB of node %s, or more than %d MiB of all nodes", maxOfNode>>20,
				c.node, maxOfAll>>20),
		}
	default:
		c.queue = append(c.queue, m)
		c.size += n
	}
	c.mu.Unlock()
	c.wake()
}

// end gives back the room that the call takes.
func (c *sent) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.room.give(c.node, c.size+c.whole)
	c.ended, c.queue, c.size, c.whole = true, nil, 0, 0
}

// How many bytes incomplete results may take here: those of one node, and of all nodes.
const (
	maxOfNode = 4 * maxBody
	maxOfAll  = 16 * maxBody
)

func (c *sent) wake() {
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// take returns the messages that have come.
func (c *sent) take() ([]*nats.Msg, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, had := c.queue, c.size+c.whole
	c.queue, c.size = nil, 0
	for _, m := range all {
		if m.Header.Get(headerKind) == kindPiece {
			c.whole += len(m.Data)
		}
	}
	c.room.give(c.node, had-c.whole)
	return all, c.err
}

// answered passes a message of an owner on to the call that it is about.
func (r *Router) answered(m *nats.Msg) {
	id := m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
	r.mu.Lock()
	c := r.calls[id]
	r.mu.Unlock()
	if c != nil {
		c.add(m)
	}
}

// Forward is that of peers.Peers.
func (r *Router) Forward(ctx context.Context, node string, call peers.Call, client peers.Client) (json.RawMessage, error) {
	public, ok := r.o.Nodes.Key(node)
	switch {
	case !r.o.Conn.IsConnected(): // and so does not know the state of the others
		return nil, unreachable(node, "cannot be reached, because this node has no connection to the NATS servers")
	case !ok:
		return nil, unreachable(node, "is not in the cluster: it was never there, or has left it with all its sessions, "+
			"or is cut off")
	}
	key, err := r.secrets.of(r.o.Node, node, public)
	if err != nil {
		return nil, unreachable(node, "has a key in the registry that cannot be used (%v)", err)
	}
	call.Caller.Node = r.o.Node
	body, err := call.Encode()
	if err != nil {
		return nil, err
	}
	if len(body) > maxBody {
		return nil, &term.Error{Kind: term.LimitExceeded, Msg: fmt.Sprintf("the call has %d bytes, and at most %d can be passed on to "+
			"another node", len(body), maxBody)}
	}
	id := newID()
	c := &sent{node: node, client: client, room: r.room, news: make(chan struct{}, 1)}
	defer c.end()
	r.mu.Lock()
	r.calls[id] = c
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.calls, id)
		r.mu.Unlock()
	}()
	if err := r.send(ctx, id, node, key, body); err != nil {
		if ctx.Err() != nil {
			return nil, &term.Error{Kind: term.Canceled, Err: context.Cause(ctx), Msg: "the call was canceled before it was sent; nothing was done"}
		}
		return nil, unreachable(node, "cannot be reached, because this node has no connection to the NATS servers (%v)", err)
	}
	return r.await(ctx, id, c)
}

// send publishes a call. Of those in several pieces it publishes one at a time: see joiner.
func (r *Router) send(ctx context.Context, id, node string, key *pairKey, body []byte) error {
	if len(body) > pieceBytes {
		select {
		case r.large <- struct{}{}:
			defer func() { <-r.large }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if !r.o.Conn.IsConnected() { // a call that is kept for later would be done long after its caller got an error
		return nats.ErrDisconnected
	}
	subject := r.o.callSubject(node)
	if len(body) > pieceBytes {
		subject = r.o.largeSubject(node)
	}
	return split(body, func(piece []byte, last bool) error {
		m := nats.NewMsg(subject)
		m.Data = piece
		if last {
			sign(m.Header, key, id, r.o.Node, node, body, time.Now())
			m.Header.Set(headerPieces, strconv.Itoa(pieces(len(body))))
			m.Reply = r.inbox + "." + id
		} else {
			signPiece(m.Header, key, id, r.o.Node, node, time.Now())
		}
		return r.o.Conn.PublishMsg(m)
	})
}

// await waits for the answer to a call.
func (r *Router) await(ctx context.Context, id string, c *sent) (json.RawMessage, error) {
	asks := asking{r: r, ctx: ctx, client: c.client}
	defer asks.end()
	heard, taken := time.Now(), false
	patience := time.NewTimer(r.o.Patience)
	defer patience.Stop()
	var result []byte
	for {
		select {
		case <-c.news:
		case <-patience.C:
			r.cancel(id, c.node) // a call that has not begun there must not begin: no caller waits for it
			return nil, r.silence(c.node, time.Since(heard), taken)
		case <-ctx.Done():
			r.cancel(id, c.node)
			return nil, canceled(ctx, c.node)
		}
		messages, err := c.take()
		for _, m := range messages {
			switch kind := m.Header.Get(headerKind); {
			case m.Header.Get("Status") == "503": // of the NATS server: there is no subscriber
				return nil, unreachable(c.node, "does not run, or is cut off from the NATS servers")
			case kind == kindTaken:
				taken = true
			case kind == kindPiece:
				result = append(result, m.Data...)
			case kind == kindError, kind == kindRefused:
				return nil, decode(c.node, m.Data)
			case kind == kindProgress:
				c.client.Notify(m.Header.Get(headerMethod), m.Data)
			case kind == kindAsk && isInbox(m.Reply):
				asks.begin(m)
			case m.Header != nil: // of another kind
			case result == nil: // nearly all, without a copy
				return m.Data, nil
			default:
				return append(result, m.Data...), nil
			}
		}
		if err != nil {
			return nil, err
		}
		if len(messages) > 0 {
			heard = time.Now()
			patience.Reset(r.o.Patience)
		}
	}
}

// silence is the error of a call that has had no message for so long.
func (r *Router) silence(node string, after time.Duration, taken bool) error {
	why := "it has not said that it took the call: it is stopped, or cut off"
	switch {
	case !r.o.Conn.IsConnected():
		why = "this node has lost the NATS servers"
	case taken:
		why = "it took the call: it is stopped, or cut off"
	}
	return silent(node, after, why)
}

// cancel tells an owner that a call was given up. A lost message does no harm: the call has its own deadline.
func (r *Router) cancel(id, node string) {
	m := nats.NewMsg(r.o.cancelSubject(node))
	m.Header.Set(headerID, id)
	_ = r.o.Conn.PublishMsg(m)
}
