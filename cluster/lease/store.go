package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ptyctl/cluster/internal/bucket"
	"ptyctl/devlock"
)

// A Store keeps the leases of devices in a bucket of JetStream. It implements devlock.Store. Make it with Open.
type Store struct {
	o      Options
	nc     *nats.Conn
	kv     jetstream.KeyValue
	bucket *bucket.Bucket
	ctx    context.Context // ends with Close
	stop   context.CancelFunc

	acquiring chan struct{} // has a token for each Acquire that asks the servers

	renewals *renewer
	watches  sync.WaitGroup
	heirs    sync.WaitGroup
}

var _ devlock.Store = (*Store)(nil)

// mostAcquiring is how many calls of Acquire of one node ask the servers at a time. When all nodes take all consoles at
// once, more of them would wait so long that answers come too late, and the keys stay taken without an owner:
// cluster/sim.
const mostAcquiring = 4

// Open connects to the servers, and makes the bucket unless it is there. It fails if no server can be reached, or if the
// bucket has another TTL than o says. ctx limits only the opening.
func Open(ctx context.Context, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	s := &Store{acquiring: make(chan struct{}, mostAcquiring), o: o}
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
	s.bucket = bucket.New(s.nc, o.Bucket, o.attempt())
	if s.kv, err = s.bucket.Open(work, jetstream.KeyValueConfig{
		Description: "the owners of ptyctl's consoles", TTL: o.TTL, Replicas: o.Replicas,
		LimitMarkerTTL: o.TTL, // otherwise no watcher hears of an expired lease
	}); err != nil {
		if denial := bucket.Denial(s.nc); denial != nil { // it is why there was no answer
			err = &UnavailableError{
				Op: "open", Why: Denied, Servers: o.shown(), After: time.Since(began), Err: denial, text: o.scrub(denial.Error()),
			}
		} else if work.Err() != nil || ctx.Err() != nil {
			err = s.unavailable(whole, "open", "", began, err)
		} else {
			err = fmt.Errorf("lease: %w", err)
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
	s.heirs.Wait()
	s.nc.Close()
	return failed
}
