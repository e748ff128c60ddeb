package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ptyctl/devlock"
)

// A Store keeps the leases of devices in a bucket of JetStream. It implements devlock.Store. Make it with Open.
type Store struct {
	o      Options
	nc     *nats.Conn
	kv     jetstream.KeyValue
	stream string          // of the bucket
	ctx    context.Context // ends with Close
	stop   context.CancelFunc

	renewals *renewer
	watches  sync.WaitGroup
}

var _ devlock.Store = (*Store)(nil)

// Open connects to the servers, and makes the bucket unless it is there. It fails if no server can be reached, or if the
// bucket has another TTL than o says. ctx limits only the opening.
func Open(ctx context.Context, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	s := &Store{o: o, stream: "KV_" + o.Bucket}
	s.ctx, s.stop = context.WithCancel(context.Background())
	whole, work, cancel := s.bound(ctx)
	defer cancel()
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("lease: not opened: %w", err)
	}
	end, _ := work.Deadline()
	timeout := min(2*time.Second, max(time.Until(end)/time.Duration(len(o.Servers)), time.Millisecond))
	if s.nc, err = nats.Connect(joined(o.Servers), o.connection(timeout)...); err != nil {
		return nil, &UnavailableError{
			Op: "open", Why: NoServer, Servers: o.shown(), After: time.Since(began), Err: err, text: o.scrub(err.Error()),
		}
	}
	if s.kv, err = s.bucket(work); err != nil {
		if work.Err() != nil || ctx.Err() != nil {
			err = s.unavailable(whole, "open", "", began, err)
		}
		s.nc.Close()
		return nil, err
	}
	if s.renewals, err = startRenewer(s); err != nil {
		s.nc.Close()
		return nil, fmt.Errorf("lease: %w", err)
	}
	return s, nil
}

// joined returns the servers in the form of nats.Connect.
func joined(servers []string) string {
	var all string
	for i, s := range servers {
		if i > 0 {
			all += ","
		}
		all += s
	}
	return all
}

// bucket returns the bucket, and makes it if needed. Servers that have just started may need a while to elect a leader.
func (s *Store) bucket(ctx context.Context) (jetstream.KeyValue, error) {
	js, err := jetstream.New(s.nc)
	if err != nil {
		return nil, fmt.Errorf("lease: %w", err)
	}
	for attempts := 0; ; attempts++ {
		kv, err := s.tryBucket(ctx, js)
		var wrong *bucketError
		if err == nil || errors.As(err, &wrong) || !pause(ctx, attempts+3) {
			return kv, err
		}
	}
}

// A bucketError says that the bucket cannot be used as it is.
type bucketError struct{ msg string }

// Error implements error.
func (e *bucketError) Error() string { return "lease: " + e.msg }

// tryBucket is one attempt of bucket.
func (s *Store) tryBucket(ctx context.Context, js jetstream.JetStream) (jetstream.KeyValue, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*s.attempt())
	defer cancel()
	kv, err := js.KeyValue(ctx, s.o.Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		replicas := s.o.Replicas
		if replicas == 0 {
			replicas = 1
			if len(s.nc.Servers()) >= 3 {
				replicas = 3
			}
		}
		kv, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: s.o.Bucket, Description: "the owners of ptyctl's consoles", TTL: s.o.TTL, Replicas: replicas,
			LimitMarkerTTL: s.o.TTL, // otherwise no watcher hears of an expired lease
		})
	}
	if errors.Is(err, jetstream.ErrBucketExists) { // another node has just made it
		kv, err = js.KeyValue(ctx, s.o.Bucket)
	}
	if err != nil {
		return nil, err
	}
	status, err := kv.Status(ctx)
	switch {
	case err != nil:
		return nil, err
	case status.TTL() != s.o.TTL:
		return nil, &bucketError{fmt.Sprintf(
			"bucket %s has a TTL of %v and not of %v: all nodes need the same", s.o.Bucket, status.TTL(), s.o.TTL,
		)}
	case status.LimitMarkerTTL() == 0 || status.History() != 1:
		return nil, &bucketError{fmt.Sprintf(
			"bucket %s was made by another program: let ptyctl make it, or choose another", s.o.Bucket,
		)}
	}
	return kv, nil
}

// Close gives back all leases, so that their devices are free at once, and closes the connection. An error names a
// device that could not be given back before ctx ended: it is free when its lease would have run out. Close waits for
// all goroutines of the Store.
func (s *Store) Close(ctx context.Context) error {
	var mu sync.Mutex
	var failed error
	var wg sync.WaitGroup
	all, err := s.renewals.leases(ctx)
	if err != nil && !errors.Is(err, errClosed) {
		failed = err
	}
	for _, l := range all {
		wg.Go(func() {
			if err := s.Release(ctx, l); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = err
			}
		})
	}
	wg.Wait()
	s.stop()
	s.renewals.wait()
	s.watches.Wait()
	s.nc.Close()
	return failed
}
