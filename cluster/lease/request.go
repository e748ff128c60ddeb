package lease

import (
	"context"
	"time"
)

// attempt is how long one answer is waited for.
func (o Options) attempt() time.Duration { return o.times().Answer() }

// read returns the last write of a key, as the leader of the stream has it.
func (s *Store) read(ctx context.Context, key string) (entry, error) {
	e, err := s.bucket.Read(ctx, key)
	if err != nil || e.Revision == 0 {
		return entry{}, err
	}
	last := newEntry(e.Data, e.Marker, e.Revision)
	last.expired = e.Expired
	return last, nil
}

// bound returns the context of a call, which ends with the Store and in Options.Timeout at the latest, and another one
// that ends a little earlier: the rest of the time is for the explanation of a failure.
func (s *Store) bound(ctx context.Context) (whole, work context.Context, cancel context.CancelFunc) {
	whole, stop := context.WithTimeout(ctx, s.o.Timeout)
	end, _ := whole.Deadline()
	left := time.Until(end)
	work, done := context.WithDeadline(whole, end.Add(-min(left/4, 500*time.Millisecond)))
	unhook := context.AfterFunc(s.ctx, stop)
	return whole, work, func() { unhook(); done(); stop() }
}
