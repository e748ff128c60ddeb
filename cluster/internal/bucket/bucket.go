// Package bucket writes and reads the keys of a key-value bucket of NATS JetStream by their revisions, so that a write
// fails if another has come first. The packages of the cluster share it. They use it instead of jetstream.KeyValue
// where the answer decides something: jetstream.KeyValue reports two different refusals as the same error, and a server
// that lags behind may answer its reads.
package bucket

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ptyctl/cluster/lease/rules"
)

// A Bucket is a bucket of JetStream. Make it with New. All methods may be called at the same time.
type Bucket struct {
	nc      *nats.Conn
	name    string
	attempt time.Duration
}

// New returns the bucket with that name. The longest that a method waits for one answer is attempt.
func New(nc *nats.Conn, name string, attempt time.Duration) *Bucket {
	return &Bucket{nc: nc, name: name, attempt: attempt}
}

// A MismatchError says that a bucket is there, and cannot be used as it is.
type MismatchError struct{ msg string }

// Error says why the bucket cannot be used.
func (e *MismatchError) Error() string { return e.msg }

// Open returns the bucket's jetstream.KeyValue, and makes the bucket unless it is there. It repeats its attempts until
// ctx ends: servers that have just started may need a while to elect a leader. A bucket with another TTL, or without
// markers of expired keys, is a *MismatchError. If config.Replicas is 0, the bucket gets 3 if the cluster has three
// servers or more, else 1.
func (b *Bucket) Open(ctx context.Context, config jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	js, err := jetstream.New(b.nc)
	if err != nil {
		return nil, err
	}
	for attempts := 0; ; attempts++ {
		kv, err := b.open(ctx, js, config)
		if err == nil || errors.As(err, new(*MismatchError)) || !Pause(ctx, attempts+3) {
			return kv, err
		}
	}
}

// open is one attempt of Open.
func (b *Bucket) open(ctx context.Context, js jetstream.JetStream, config jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*b.attempt)
	defer cancel()
	kv, err := js.KeyValue(ctx, b.name)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		config.Bucket = b.name
		if config.Replicas == 0 {
			config.Replicas = 1
			if len(b.nc.Servers()) >= 3 {
				config.Replicas = 3
			}
		}
		kv, err = js.CreateKeyValue(ctx, config)
	}
	if errors.Is(err, jetstream.ErrBucketExists) { // another node has just made it
		kv, err = js.KeyValue(ctx, b.name)
	}
	if err != nil {
		return nil, err
	}
	status, err := kv.Status(ctx)
	switch {
	case err != nil:
		return nil, err
	case status.TTL() != config.TTL:
		return nil, &MismatchError{fmt.Sprintf(
			"bucket %s has a TTL of %v and not of %v: all nodes need the same", b.name, status.TTL(), config.TTL,
		)}
	case status.LimitMarkerTTL() == 0 || status.History() != 1:
		return nil, &MismatchError{fmt.Sprintf(
			"bucket %s was made by another program: let ptyctl make it, or choose another", b.name,
		)}
	}
	return kv, nil
}

// Servers returns the addresses of the servers that are known, without credentials.
func (b *Bucket) Servers() string {
	var all []string
	for _, s := range b.nc.Servers() {
		if u, err := url.Parse(s); err == nil {
			all = append(all, u.Scheme+"://"+u.Host)
		}
	}
	return strings.Join(all, ", ")
}

// Pause waits before the next attempt of a call, a little longer each time. It reports false once ctx ends.
func Pause(ctx context.Context, attempts int) bool {
	d := rules.Pause(attempts)
	timer := time.NewTimer(d/2 + rand.N(d/2))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
