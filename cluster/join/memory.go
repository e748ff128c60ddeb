package join

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ptyctl/cluster/internal/bucket"
	"ptyctl/cluster/proof"
	"ptyctl/cluster/route"
	"ptyctl/mcpapi/kept"
	"ptyctl/mcpapi/peers"
	"ptyctl/term"
)

// graves is how long it stays visible that a session is not kept any more.
const graves = time.Minute

// claimTime is how long a session belongs to a call that reopens it elsewhere, while the new one has not opened: a login
// may ask several questions. It ends earlier if that fails.
const claimTime = 5 * time.Minute

// A memory is the nodes' record of their sessions: a bucket with a key for each session. It is a kept.Memory.
type memory struct {
	bucket *bucket.Bucket
	group  string
	node   string
	router *route.Router
	prover *proof.Prover // nil: nodes have no credentials, and any may have written an entry
	log    *slog.Logger

	wake chan struct{} // has room for one: changed is not empty

	mu      sync.Mutex // guards the following
	changed map[string]bool
	claims  map[string]string // by the session that opens: the one that it replaces
}

var _ kept.Memory = (*memory)(nil)

// openMemory opens the bucket. The prover may be nil.
func openMemory(
	ctx context.Context, nc *nats.Conn, group, node string, router *route.Router, prover *proof.Prover, log *slog.Logger,
) (*memory, error) {
	m := &memory{
		bucket: bucket.New(nc, group+"-sessions", requestTime), group: group, node: node, router: router, prover: prover, log: log,
		wake: make(chan struct{}, 1), changed: make(map[string]bool), claims: make(map[string]string),
	}
	_, err := m.bucket.Open(ctx, jetstream.KeyValueConfig{
		Description: "what ptyctl's sessions lead to, without secrets", LimitMarkerTTL: graves, History: 1,
	})
	return m, err
}

// keyOf returns the key of a session. An id may have characters that keys may not.
func keyOf(id string) string { return base64.RawURLEncoding.EncodeToString([]byte(id)) }

// Changed implements kept.Memory.
func (m *memory) Changed(id string) {
	m.mu.Lock()
	m.changed[id] = true
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Find implements kept.Memory.
func (m *memory) Find(ctx context.Context, id string) (*kept.Session, error) {
	if node := peers.NodeOf(id); node != m.node {
		switch there, err := m.router.Connected(ctx, node); {
		case err != nil:
			return nil, m.unknown(id, err)
		case there:
			return nil, &term.Error{
				Op: "open", Session: id, Kind: term.NodeSilent, Reason: term.ReasonNodeSilent,
				Msg: fmt.Sprintf("node %s does not answer, and is still connected to the NATS servers: it is stopped, or "+
					"they have no majority and do not tell of it; it may have the session; nothing was reopened", node),
				Facts: term.Facts{term.UnreachedNode{Node: node}},
			}
		}
	}
	_, v, err := m.read(ctx, id)
	if err != nil || v == nil {
		return nil, err
	}
	return kept.Decode(id, v.Session)
}

// read returns the value of a session's key; nil: it has none.
func (m *memory) read(ctx context.Context, id string) (bucket.Entry, *stored, error) {
	e, err := m.bucket.Read(ctx, keyOf(id))
	if err != nil {
		return e, nil, m.unknown(id, err)
	}
	if !e.Held() {
		return e, nil, nil
	}
	v := new(stored)
	if err := json.Unmarshal(e.Data, v); err != nil {
		return e, nil, &term.Error{
			Op: "open", Session: id, Kind: term.IOError, Err: err,
			Msg: "what the cluster keeps of this session is not valid, so it is not reopened: it is no JSON object; open a new one",
		}
	}
	if err := m.check(id, v, time.Now()); err != nil {
		m.log.Warn("another node may have written what is kept of a session, which is not reopened", "session", id, "error", err)
		return e, nil, &term.Error{
			Op: "open", Session: id, Kind: term.IOError, Err: err,
			Msg: fmt.Sprintf("what the cluster keeps of this session may be another node's words, so it is not reopened: %v; open a new one, "+
				"and have the operator look for the node that has written it", err),
		}
	}
	return e, v, nil
}

// unknown is the error of a call if the servers do not say whether a session is kept.
func (m *memory) unknown(id string, err error) error {
	return &term.Error{
		Op: "open", Session: id, Kind: term.NodeUnreachable, Reason: term.ReasonNodeUnreachable, Err: err,
		Msg: "what is kept of this session is not known, because the NATS servers do not say: " + err.Error() + "; nothing was done",
	}
}

// Claim implements kept.Memory.
func (m *memory) Claim(ctx context.Context, id, as string) (taken string, release func(), err error) {
	for attempts := 0; ; attempts++ {
		e, v, err := m.read(ctx, id)
		switch {
		case err != nil:
			return "", nil, err
		case v == nil:
			return "", nil, &term.Error{
				Op: "open", Session: id, Kind: term.NotFound, Reason: term.ReasonNoSession, Msg: "nothing is kept of this session any more",
			}
		case v.Again != "":
			lasts, err := m.claimed(ctx, e, v)
			if err != nil || lasts {
				return v.Again, nil, err
			}
		}
		if err = m.claim(id, as, v); err != nil {
			return "", nil, err
		}
		_, err = m.bucket.Put(ctx, m.message(id, v, e.Revision))
		if err == nil {
			m.mu.Lock()
			m.claims[as] = id
			m.mu.Unlock()
			return as, func() { m.release(as) }, nil
		}
		if !bucket.Refused(err) || !bucket.Pause(ctx, attempts) { // another write has come first
			return "", nil, m.unknown(id, err)
		}
	}
}

// claimed reports whether the session of v goes on as another: one that is kept itself, or that opens.
func (m *memory) claimed(ctx context.Context, e bucket.Entry, v *stored) (bool, error) {
	if time.Since(e.Time) < claimTime {
		return true, nil
	}
	_, other, err := m.read(ctx, v.Again)
	return other != nil, err
}

// release takes a claim back: the session as has not opened.
func (m *memory) release(as string) {
	m.mu.Lock()
	id, ok := m.claims[as]
	delete(m.claims, as)
	m.mu.Unlock()
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestTime)
	defer cancel()
	for attempts := 0; ; attempts++ {
		e, v, err := m.read(ctx, id)
		if err != nil || v == nil || v.Again != as {
			return // without an answer it runs out
		}
		v.Again, v.Claim = "", nil
		if _, err = m.bucket.Put(ctx, m.message(id, v, e.Revision)); !bucket.Refused(err) || !bucket.Pause(ctx, attempts) {
			return
		}
	}
}

// opened says that a session has opened, so that it has the place of the one that it was opened for.
func (m *memory) opened(as string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.claims, as)
}

// message returns the write of a key. Without a revision it replaces any value.
func (m *memory) message(id string, v *stored, revision uint64) *nats.Msg {
	var data []byte
	ttl := graves
	if v != nil {
		ttl = min(max(time.Duration(v.TTL)*time.Second, time.Second), maxTTL)
		data, _ = json.Marshal(v) // of texts and numbers
	}
	msg := m.bucket.Write(keyOf(id), data, revision)
	if revision == 0 {
		msg.Header.Del("Nats-Expected-Last-Subject-Sequence")
	}
	return bucket.WithTTL(msg, ttl)
}
