package join

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ptyctl/cluster/internal/bucket"
	"ptyctl/mcpapi/peers"
	"ptyctl/term"
)

// requestLife is how long it is known which node had a request: longer than nodes remember the results of requests.
const requestLife = 15 * time.Minute

// requestTime is how long it may take to learn or to write which node has a request.
const requestTime = 3 * time.Second

// requests knows which node had a request that must not be done twice, so that its repetition goes there, whatever nodes
// have come and gone meanwhile. It is a bucket with a key for each such request.
type requests struct {
	nc *nats.Conn
	kv jetstream.KeyValue
}

// openRequests opens the bucket.
func openRequests(ctx context.Context, nc *nats.Conn, group string, replicas int) (*requests, error) {
	kv, err := bucket.New(nc, group+"-requests", requestTime).Open(ctx, jetstream.KeyValueConfig{
		Bucket: group + "-requests", Description: "which node of ptyctl had a request", TTL: requestLife, Replicas: replicas,
		LimitMarkerTTL: time.Second, History: 1,
	})
	if err != nil {
		return nil, err
	}
	return &requests{nc, kv}, nil
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
			if node := string(had.Value()); peers.ValidNode(node) {
				return node, nil
			}
			return "", r.unknown(errors.New("its entry names no node"))
		}
		if !errors.Is(err, jetstream.ErrKeyNotFound) {
			return "", r.unknown(err)
		}
		node, err := place()
		if err != nil {
			return "", err
		}
		switch _, err := r.kv.Create(ctx, key, []byte(node)); {
		case err == nil:
			return node, nil
		case !errors.Is(err, jetstream.ErrKeyExists):
			return "", r.unknown(err)
		}
	}
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
