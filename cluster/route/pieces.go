package route

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"ptyctl/term"
)

const (
	// pieceBytes is the most of a body that one message has. NATS servers take messages of 1 MiB by default.
	pieceBytes = 512 << 10

	maxBody = 64 << 20 // of a call or a result, in bytes

	maxPending = 256 << 20 // of all bodies of calls that lack pieces, in bytes

	// stalled is how long after its last piece a body is given up. A node sends the pieces one after the other.
	stalled = 10 * time.Second
)

// split calls send for each piece of a body, the last one with last set. An empty body has one piece.
func split(body []byte, send func(piece []byte, last bool) error) error {
	for len(body) > pieceBytes {
		if err := send(body[:pieceBytes], false); err != nil {
			return err
		}
		body = body[pieceBytes:]
	}
	return send(body, true)
}

// A joiner joins the pieces of calls. An entry node sends the pieces of one body after those of another, and NATS keeps
// the order of the messages of one sender. So an incomplete body is of no use once its node has begun another. Each
// entry node has one body at a time, and with it its share of the room.
type joiner struct {
	entry func(h nats.Header) (node string, ok bool) // that has signed the piece of a body
	most  int                                        // bytes of all incomplete bodies

	mu      sync.Mutex          // guards the following
	bodies  map[string]*pending // by entry node
	waiting int                 // bytes
}

// A pending body lacks pieces.
type pending struct {
	id          string
	body        []byte
	refused     bool // there was no room for a piece
	since, last time.Time
}

func newJoiner(entry func(h nats.Header) (node string, ok bool)) *joiner {
	return &joiner{entry: entry, most: maxPending, bodies: make(map[string]*pending)}
}

// The reasons why the body of a call is incomplete although its last piece has come.
var (
	errLost = &term.Error{
		Kind: term.NodeUnreachable, Reason: term.ReasonNodeUnreachable, Msg: "parts of the call were lost on the way to it; nothing was done",
	}
	errNoRoom = &term.Error{
		Kind: term.LimitExceeded, Msg: fmt.Sprintf("other nodes send it calls of more than %d MiB at once; nothing was done", maxPending>>20),
	}
)

// add takes a message. With the last piece the body is complete, unless the error says why it is not there.
func (j *joiner) add(m *nats.Msg, now time.Time) (body []byte, complete bool, err error) {
	if m.Header.Get(headerToken) == "" {
		j.piece(m, now)
		return nil, false, nil
	}
	body, err = j.whole(m)
	return body, err == nil, err
}

// piece takes a piece that is not the last one. It drops a piece that no node has signed.
func (j *joiner) piece(m *nats.Msg, now time.Time) {
	node, ok := j.entry(m.Header)
	if !ok || len(m.Data) != pieceBytes {
		return
	}
	id := m.Header.Get(headerID)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.forget(now)
	p := j.bodies[node]
	if p == nil || p.id != id {
		j.drop(node)
		p = &pending{id: id, since: now}
		j.bodies[node] = p
	}
	p.last = now
	if p.refused || j.waiting+len(m.Data) > j.most || len(p.body)+len(m.Data) > maxBody {
		j.waiting -= len(p.body)
		p.refused, p.body = true, nil
		return
	}
	p.body = append(p.body, m.Data...)
	j.waiting += len(m.Data)
}

// whole takes the last piece of a body. The token of that piece shows whether the body is from its node.
func (j *joiner) whole(m *nats.Msg) (body []byte, err error) {
	if n := m.Header.Get(headerPieces); n == "" || n == "1" {
		return m.Data, nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	node := m.Header.Get(headerEntry)
	p := j.bodies[node]
	if p == nil || p.id != m.Header.Get(headerID) {
		return nil, errLost
	}
	if p.refused {
		return nil, errNoRoom
	}
	j.drop(node)
	body = append(p.body, m.Data...)
	if want, err := strconv.Atoi(m.Header.Get(headerPieces)); err != nil || want != pieces(len(body)) {
		return nil, errLost
	}
	return body, nil
}

// pieces is the number of pieces of a body.
func pieces(size int) int { return max((size+pieceBytes-1)/pieceBytes, 1) }

// forget drops incomplete bodies that have got no piece for stalled, or that are older than tokenLife. Requires j.mu.
func (j *joiner) forget(now time.Time) {
	for node, p := range j.bodies {
		if now.Sub(p.since) > tokenLife || now.Sub(p.last) > stalled {
			j.drop(node)
		}
	}
}

// drop forgets the body of a node. Requires j.mu.
func (j *joiner) drop(node string) {
	if p := j.bodies[node]; p != nil {
		j.waiting -= len(p.body)
		delete(j.bodies, node)
	}
}
