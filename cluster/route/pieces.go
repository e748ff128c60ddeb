package route

import (
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// pieceBytes is the most of a body that one message has. NATS servers take messages of 1 MiB by default.
	pieceBytes = 512 << 10

	maxBody = 64 << 20 // of a call or a result, in bytes

	maxPending = 256 << 20 // of all bodies of calls of which pieces are missing, in bytes
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

// A joiner puts the bodies of calls together. NATS keeps the order of the messages of one sender.
type joiner struct {
	mu      sync.Mutex // guards the following
	bodies  map[string]*pending
	waiting int // bytes
}

// A pending body lacks pieces.
type pending struct {
	body  []byte
	since time.Time
}

func newJoiner() *joiner { return &joiner{bodies: make(map[string]*pending)} }

// add takes a message, and returns the whole body once the last piece has come.
func (j *joiner) add(m *nats.Msg, now time.Time) (body []byte, complete bool) {
	id := m.Header.Get(headerID)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.forget(now)
	p := j.bodies[id]
	last := m.Header.Get(headerToken) != ""
	if p == nil && last {
		if n := m.Header.Get(headerPieces); n != "" && n != "1" { // the first pieces are lost
			return nil, false
		}
		return m.Data, true
	}
	if !last && len(m.Data) != pieceBytes { // so that maxPending bounds the number of bodies, too
		return nil, false
	}
	if p == nil {
		if !validID(id) {
			return nil, false
		}
		p = &pending{since: now}
		j.bodies[id] = p
	}
	if j.waiting+len(m.Data) > maxPending || len(p.body)+len(m.Data) > maxBody {
		j.drop(id, p)
		return nil, false
	}
	p.body = append(p.body, m.Data...)
	j.waiting += len(m.Data)
	if !last {
		return nil, false
	}
	j.drop(id, p)
	if want, err := strconv.Atoi(m.Header.Get(headerPieces)); err != nil || want != pieces(len(p.body)) {
		return nil, false
	}
	return p.body, true
}

// pieces is the number of pieces of a body.
func pieces(size int) int { return max((size+pieceBytes-1)/pieceBytes, 1) }

// forget drops the bodies whose other pieces have not come while their token was good. Requires j.mu.
func (j *joiner) forget(now time.Time) {
	for id, p := range j.bodies {
		if now.Sub(p.since) > tokenLife {
			j.drop(id, p)
		}
	}
}

// drop forgets a body. Requires j.mu.
func (j *joiner) drop(id string, p *pending) {
	delete(j.bodies, id)
	j.waiting -= len(p.body)
}
