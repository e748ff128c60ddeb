package join

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ptyctl/cluster/internal/bucket"
	"ptyctl/mcpapi/peers"
	"ptyctl/term"
)

// requestLife is how long it is known which node had a request since it was made or repeated: longer than nodes remember the
// results of requests.
const requestLife = 15 * time.Minute

// requestTime is how long it may take to learn or to write which node has a request.
const requestTime = 3 * time.Second

// requests knows which node had a request that must not be done twice, so that its repetition goes there, whatever nodes
// have come and gone meanwhile. It is a bucket with a key for each such request, which has the node, a space and the
// process of the node: what a request has done is remembered by that process, and by no later one of the same name.
type requests struct {
	nc *nats.Conn
	kv jetstream.KeyValue

	life    time.Duration            // of an entry
	process func(node string) string // that runs now; empty: none is known
}

// openRequests opens the bucket.
func openRequests(
	ctx context.Context, nc *nats.Conn, group string, life time.Duration, process func(node string) string,
) (*requests, error) {
	kv, err := bucket.New(nc, group+"-requests", requestTime).Open(ctx, jetstream.KeyValueConfig{
		Bucket: group + "-requests", Description: "which node of ptyctl had a request", TTL: life,
		LimitMarkerTTL: time.Second, History: 1,
	})
	if err != nil {
		return nil, err
	}
	return &requests{nc, kv, life, process}, nil
}

// at returns the node that has had a request, or place's choice if none has. All who ask get the same answer.
func (r *requests) at(ctx context.Context, once string, place func() (string, error)) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	sum := sha256.Sum256([]byte(once)) // the name of a caller and its request_id may have any characters
	key := hex.EncodeToString(sum[:])
	for {
		had, err := r.kv.Get(ctx, key)
		if err == nil {
			node, err := r.had(string(had.Value()))
			if err == nil {
				r.prolong(ctx, key, had)
			}
			return node, err
		}
		if !errors.Is(err, jetstream.ErrKeyNotFound) {
			return "", r.unknown(err)
		}
		node, err := place()
		if err != nil {
			return "", err
		}
		switch _, err := r.kv.Create(ctx, key, []byte(node+" "+r.process(node))); {
		case err == nil:
			return node, nil
		case !errors.Is(err, jetstream.ErrKeyExists):
			return "", r.unknown(err)
		}
	}
}

// prolong keeps an entry for longer, because its request was repeated: what it has begun may still run, and its node then
// knows it for as long. An entry that cannot be written now ends with its time.
func (r *requests) prolong(ctx context.Context, key string, had jetstream.KeyValueEntry) {
	if time.Since(had.Created()).Abs() < r.life/3 { // by the clocks of two machines
		return
	}
	_, _ = r.kv.Update(ctx, key, had.Value(), had.Revision()) // refused: another node has just done it
}

// had returns the node of an entry, if the process of that node runs that had the request.
func (r *requests) had(entry string) (string, error) {
	node, process, _ := strings.Cut(entry, " ")
	if !peers.ValidNode(node) {
		return "", r.unknown(errors.New("its entry names no node"))
	}
	facts := term.Facts{term.UnreachedNode{Node: node}}
	switch now := r.process(node); {
	case now == "":
		return "", &term.Error{
			Kind: term.NodeUnreachable, Reason: term.ReasonNodeUnreachable, Facts: facts,
			Msg: fmt.Sprintf("node %s had the request with this request_id first, and does not run, or is cut off; whether the request "+
				"was done is known there alone; this call has done nothing", node),
		}
	case process != "" && process != now:
		return "", &term.Error{
			Kind: term.NodeSilent, Reason: term.ReasonRequestLost, Facts: facts,
			Msg: fmt.Sprintf("node %s had the request with this request_id first, and has begun anew since; whether the request was done "+
				"is not known any more; this call has done nothing", node),
		}
	}
	return node, nil
}

// process returns what tells the process of a node that runs from earlier and later ones of the same name.
func (n *node) process(name string) string {
	key, ok := n.own, true
	if name != n.name {
		key, ok = n.Key(name)
	}
	if !ok {
		return ""
	}
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:8])
}

// unknown is the error for a request that may have been done on some node.
func (r *requests) unknown(err error) error {
	why := "the NATS servers do not say: " + err.Error()
	if !r.nc.IsConnected() {
		why = "this node has no connection to the NATS servers"
	}
	return &term.Error{
		Kind: term.NodeUnreachable, Reason: term.ReasonNodeUnreachable, Err: err,
		Msg: "which node has had the request with this request_id is not known, because " + why + "; nothing was done",
	}
}
