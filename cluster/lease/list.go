package lease

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ptyctl/devlock"
)

// A Listed is a device that has an owner.
type Listed struct {
	devlock.Holding
	Renewed time.Time     // by the clock of the server that led the bucket
	TTL     time.Duration // after which it is free if it is not renewed
}

// List returns the devices in a bucket that have an owner, by name. It makes no bucket: without one it returns no
// devices.
func List(ctx context.Context, nc *nats.Conn, bucketName string) (all []Listed, err error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("lease: %w", err)
	}
	kv, err := js.KeyValue(ctx, bucketName)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lease: %w", err)
	}
	status, err := kv.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("lease: %w", err)
	}
	w, err := kv.Watch(ctx, "dev.*", jetstream.IgnoreDeletes())
	if err != nil {
		return nil, fmt.Errorf("lease: %w", err)
	}
	defer func() { _ = w.Stop() }()
	for {
		select {
		case u := <-w.Updates():
			if u == nil { // all stored values have come
				slices.SortFunc(all, func(a, b Listed) int { return strings.Compare(a.Device, b.Device) })
				return all, nil
			}
			h := newEntry(u.Value(), false, u.Revision()).holding(deviceOf(u.Key()), true)
			all = append(all, Listed{Holding: h, Renewed: u.Created(), TTL: status.TTL()})
		case <-ctx.Done():
			return nil, fmt.Errorf("lease: %w", context.Cause(ctx))
		}
	}
}

// deviceOf returns the device that a key is of.
func deviceOf(key string) string {
	name, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(key, "dev."))
	if err != nil { // "dev.=", of the device without a name
		return ""
	}
	return string(name)
}

// Held returns how many devices this Store has, as far as is known when ctx ends.
func (s *Store) Held(ctx context.Context) (int, error) {
	all, err := s.renewals.leases(ctx)
	return len(all), err
}
