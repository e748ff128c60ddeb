package lease

import (
	"container/heap"
	"context"
	"fmt"
	"time"

	"ptyctl/devlock"
)

// drop forgets a lease.
func (r *renewer) drop(h *held) {
	h.fence.Stop()
	delete(r.held, h.lease)
	delete(r.byID, h.value.ID)
	heap.Remove(&r.next, h.place)
	if h.lease.Check() != nil { // its timer may just have been stopped
		h.lease.End(r.overdue(h))
	}
}

// overdue is the reason of a lease that was not renewed in time. It has no effect if the lease has ended before.
func (r *renewer) overdue(h *held) *devlock.LostError {
	why := &devlock.LostError{
		Device: h.lease.Device(), Why: fmt.Sprintf("no server has renewed it within %v", r.s.o.TTL-r.s.o.Margin),
	}
	if failed := h.failed.Load(); failed != nil {
		err := *failed
		why.Err = &UnavailableError{
			Op: "renewal", Device: h.lease.Device(), Why: r.s.atOnce(err), Servers: r.s.o.shown(), After: r.s.o.TTL - r.s.o.Margin,
			Err: err, text: r.s.o.scrub(err.Error()),
		}
	}
	return why
}

// atOnce is bucket.Why without asking a server.
func (s *Store) atOnce(err error) Why {
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	return s.bucket.Why(ctx, err)
}

// add renews h from now on.
func (r *renewer) add(ctx context.Context, h *held, sent devlock.Moment) error {
	return r.do(ctx, func() {
		h.due = sent.Time().Add(r.s.o.times().Every())
		h.fence = time.AfterFunc(time.Until(h.lease.Until()), func() {
			if h.lease.Check() == nil { // it was renewed at this very moment, and the timer is set again
				return
			}
			h.lease.End(r.overdue(h))  // here and not in the renewer, which may wait for the network
			_ = r.do(r.s.ctx, func() { // the end of the Store ends all leases
				if r.held[h.lease] == h {
					h.tell(h.lease.Check())
					r.drop(h)
				}
			})
		})
		r.held[h.lease], r.byID[h.value.ID] = h, h
		heap.Push(&r.next, h)
	})
}

// remove stops the renewals of a lease, and returns it; nil: it was lost or removed before.
func (r *renewer) remove(ctx context.Context, l *devlock.Lease) (h *held, err error) {
	err = r.do(ctx, func() {
		if h = r.held[l]; h != nil {
			h.tell(l.Released())
			r.drop(h)
		}
	})
	return h, err
}

// leases returns the leases that are renewed.
func (r *renewer) leases(ctx context.Context) (all []*devlock.Lease, err error) {
	err = r.do(ctx, func() {
		for l := range r.held {
			all = append(all, l)
		}
	})
	return all, err
}

// Renew implements devlock.Store.
func (s *Store) Renew(ctx context.Context, l *devlock.Lease) error {
	began := time.Now()
	whole, work, cancel := s.bound(ctx)
	defer cancel()
	done := make(chan error, 1)
	known, failed := false, error(nil)
	if err := s.renewals.do(work, func() {
		h := s.renewals.held[l]
		if known = h != nil; known {
			h.waiters = append(h.waiters, waiter{from: h.Number + 1, done: done})
			s.renewals.schedule(h, began)
		}
	}); err != nil {
		return s.notDone(whole, "renewal", l.Device(), began, err)
	}
	if !known {
		if err := l.Check(); err != nil {
			return err
		}
		return fmt.Errorf("lease: the lease of device %q is another store's", l.Device())
	}
	select {
	case err := <-done:
		return err
	case <-work.Done():
	}
	_ = s.renewals.do(whole, func() { // if it is not carried out, done is never read
		if h := s.renewals.held[l]; h != nil {
			h.waiters = tell(h.waiters, func(w waiter) bool { return w.done == done }, nil)
			if e := h.failed.Load(); e != nil {
				failed = *e
			}
		}
	})
	if failed == nil {
		failed = context.Cause(work)
	}
	return s.unavailable(whole, "renewal", l.Device(), began, failed)
}
