// Package anchors keeps the ends of the nodes' audit logs in a bucket of NATS JetStream. So a log that was cut or
// rewritten is found, although its node could change all of its files.
//
//	book, err := anchors.Open(ctx, nc, "ptyctl", prover)
//	err = book.Put(ctx, anchors.Anchor{Node: "fra-1", Why: anchors.Day, File: h.File, Bytes: h.Bytes, Hash: h.Hash})
//
// The bucket is GROUP-anchors, with one key for each node, node.NAME, and the last 64 anchors of each. A node may write
// its own key only, and neither delete nor purge messages of the stream; but it can push its older anchors out with new
// ones. Copy them elsewhere if that matters (ptyctl-cluster status --anchors --json). A node that writes needs these
// rights and no others; BUCKET is GROUP-anchors, NODE the node's name, and the line with CREATE is for the node that
// makes the bucket:
//
//	publish $KV.BUCKET.node.NODE
//	publish $JS.API.INFO
//	publish $JS.API.STREAM.CREATE.KV_BUCKET
//	publish $JS.API.STREAM.INFO.KV_BUCKET
package anchors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ptyctl/cluster/nodes"
	"ptyctl/cluster/proof"
)

// A Why is the occasion of an anchor.
type Why string

// The occasions.
const (
	Start Why = "start" // of the node
	Day   Why = "day"   // at midnight, UTC
	End   Why = "end"   // of the node: nothing follows in the log until it starts again
)

// An Anchor is the end of a node's audit log at one moment.
type Anchor struct {
	Node  string    `json:"node"`
	Time  time.Time `json:"time"` // by the clock of the node
	Why   Why       `json:"why"`
	File  int64     `json:"file"`  // number of the file, from 1
	Bytes int64     `json:"bytes"` // of that file
	Hash  string    `json:"hash"`  // of the last line: audit verify --head takes it

	Stored   time.Time `json:"stored"` // by the clock of the server that led the bucket
	Revision uint64    `json:"revision"`

	// Doubt is why the anchor may be another node's words; empty: its node has signed it, or nodes have no credentials.
	Doubt string `json:"doubt,omitempty"`
}

// text is the text that the node signs. No part has a zero byte.
func (a Anchor) text() []byte {
	return fmt.Appendf(nil, "%s\x00%s\x00%d\x00%d\x00%s\x00%s", a.Node, a.Why, a.File, a.Bytes, a.Hash, a.Time.UTC().Format(time.RFC3339Nano))
}

// A value is the value of a node's key.
type value struct {
	Anchor
	Proof *proof.Shown `json:"proof,omitempty"`
}

// Kept is how many anchors of each node are kept.
const Kept = 64

// maxValue is the most bytes of a key's value.
const maxValue = 16 << 10

// keyPrefix is before the name of a node in its key.
const keyPrefix = "node."

// A Book is the bucket.
type Book struct {
	kv     jetstream.KeyValue
	group  string
	prover *proof.Prover
}

// Bucket returns the name of the bucket of a group.
func Bucket(group string) string { return group + "-anchors" }

// ErrNone says that no node has written an anchor.
var ErrNone = errors.New("no node of the group has kept the end of an audit log: none has audit.path, or none has started since")

// Open returns the book of a group to write to, and makes its bucket unless it is there. The prover signs the anchors of
// this node and checks those of all; nil: nodes have no credentials.
func Open(ctx context.Context, nc *nats.Conn, group string, prover *proof.Prover) (*Book, error) {
	b, err := Read(ctx, nc, group, prover)
	if !errors.Is(err, ErrNone) {
		return b, err
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	replicas := 1
	if len(nc.Servers()) >= 3 {
		replicas = 3
	}
	kv, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: Bucket(group), Description: "the ends of the audit logs of ptyctl's nodes", History: Kept, Replicas: replicas,
		MaxValueSize: maxValue,
	})
	if errors.Is(err, jetstream.ErrBucketExists) { // another node has just made it
		return Read(ctx, nc, group, prover)
	}
	if err != nil {
		return nil, fmt.Errorf("anchors: %w", err)
	}
	return &Book{kv, group, prover}, nil
}

// Read is Open of a book that is there. The error is ErrNone if it is not.
func Read(ctx context.Context, nc *nats.Conn, group string, prover *proof.Prover) (*Book, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	kv, err := js.KeyValue(ctx, Bucket(group))
	switch {
	case errors.Is(err, jetstream.ErrBucketNotFound):
		return nil, ErrNone
	case err != nil:
		return nil, fmt.Errorf("anchors: %w", err)
	}
	return &Book{kv, group, prover}, nil
}

// Put adds an anchor of a node.
func (b *Book) Put(ctx context.Context, a Anchor) error {
	a.Stored, a.Revision, a.Doubt = time.Time{}, 0, ""
	v, err := value{Anchor: a}, error(nil)
	if b.prover != nil {
		v.Proof, err = b.prover.Sign(proof.Anchor, nodes.Subject(b.group, a.Node), a.text())
	}
	var text []byte
	if err == nil {
		text, err = json.Marshal(v)
	}
	if err == nil {
		_, err = b.kv.Put(ctx, keyPrefix+a.Node, text)
	}
	if err != nil {
		return fmt.Errorf("anchors: %w", err)
	}
	return nil
}

// List returns the kept anchors, sorted by node, the oldest of each node first. node limits them to one node; empty:
// all. List skips a value that it cannot read: another program has written it.
func (b *Book) List(ctx context.Context, node string) (all []Anchor, err error) {
	key := keyPrefix + "*"
	if node != "" {
		key = keyPrefix + node
	}
	w, err := b.kv.Watch(ctx, key, jetstream.IncludeHistory())
	if err != nil {
		return nil, fmt.Errorf("anchors: %w", err)
	}
	defer func() { _ = w.Stop() }()
	for {
		select {
		case u := <-w.Updates():
			if u == nil { // all stored values have come
				slices.SortStableFunc(all, func(a, b Anchor) int { return strings.Compare(a.Node, b.Node) })
				return all, nil
			}
			var v value
			if u.Operation() != jetstream.KeyValuePut || len(u.Value()) > maxValue || json.Unmarshal(u.Value(), &v) != nil ||
				keyPrefix+v.Node != u.Key() {
				continue
			}
			v.Stored, v.Revision, v.Doubt = u.Created(), u.Revision(), ""
			if b.prover != nil {
				if err := b.prover.Verify(proof.Anchor, nodes.Subject(b.group, v.Node), v.text(), v.Proof); err != nil {
					v.Doubt = err.Error()
				}
			}
			all = append(all, v.Anchor)
		case <-ctx.Done():
			return nil, fmt.Errorf("anchors: %w", context.Cause(ctx))
		}
	}
}
