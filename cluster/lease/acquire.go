package lease

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"ptyctl/cluster/internal/bucket"
	"ptyctl/devlock"
)

// Acquire implements devlock.Store. The owner's Node is that of Options.
func (s *Store) Acquire(ctx context.Context, device string, o devlock.Owner) (*devlock.Lease, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("lease: device %q was not acquired: %w", device, err)
	}
	key, err := keyOf(device)
	if err != nil {
		return nil, err
	}
	o.Node = s.o.Node
	began := time.Now()
	whole, work, cancel := s.bound(ctx)
	defer cancel()
	h := &held{key: key, value: value{Device: device, ID: rand.Text(), Owner: o}}
	select {
	case s.acquiring <- struct{}{}:
	case <-work.Done():
		return nil, s.unavailable(whole, "acquire", device, began, context.Cause(work))
	}
	sent, err := s.win(work, h)
	<-s.acquiring
	if _, ok := err.(*devlock.HeldError); ok { //nolint:errorlint // it is made here
		return nil, err
	}
	if err != nil {
		return nil, s.unavailable(whole, "acquire", device, began, err)
	}
	if err := s.begin(h, sent); err != nil {
		return nil, s.unavailable(whole, "acquire", device, began, err)
	}
	heir := h.Heir // the renewer has it from now on
	if err := s.renewals.add(work, h, sent); err != nil {
		return nil, s.notDone(whole, "acquire", device, began, err)
	}
	if heir {
		return nil, s.inherit(h)
	}
	return h.lease, nil
}

// begin makes the lease of h. sent is when its last write was sent. begin fails if the confirmation has come so late
// that the lease is over. The key of h then stays until it expires.
func (s *Store) begin(h *held, sent devlock.Moment) error {
	h.lease = devlock.NewLease(h.value.Device, h.value.Owner, h.Token)
	if err := h.lease.ExtendFrom(sent, s.o.times().Lasts()); err != nil {
		return err
	}
	return h.lease.Check()
}

// win makes h the owner of its key, and returns when the write was sent that did so. The error is a *HeldError, or the
// last one that was met before ctx ended.
func (s *Store) win(ctx context.Context, h *held) (sent devlock.Moment, err error) {
	for attempts := 0; ; attempts++ {
		sent, h.value.Heir = devlock.Now(), h.Heir
		revision, err := s.bucket.Put(ctx, s.bucket.Write(h.key, h.value.encode(h.Token), h.Revision))
		if err == nil {
			h.Won(revision)
			return sent, nil
		}
		// The write was refused or its answer was lost: the key says who has it.
		e, failed := s.read(ctx, h.key)
		switch {
		case failed != nil:
			if bucket.Refused(err) { // then this says more
				err = failed
			}
		case h.Claim(e.seenBy(h.value.ID)):
			held := &devlock.HeldError{Device: h.value.Device, Owner: e.Owner}
			if e.Heir {
				held.Left = s.o.times().Patience()
			}
			return sent, held
		}
		if !bucket.Pause(ctx, attempts) {
			return sent, err
		}
	}
}

// Release implements devlock.Store. The lease ends at once, and its key is deleted if it still is this lease's.
func (s *Store) Release(ctx context.Context, l *devlock.Lease) error {
	l.End(l.Released()) // first: the next owner may come as soon as the key is free
	began := time.Now()
	whole, work, cancel := s.bound(ctx)
	defer cancel()
	h, err := s.renewals.remove(work, l)
	switch {
	case errors.Is(err, errClosed): // and has released it, or failed to
		return nil
	case err != nil:
		return s.unavailable(whole, "release", l.Device(), began, err)
	case h == nil, h.value.Heir: // its key must expire
		return nil
	}
	for attempts := 0; ; attempts++ {
		_, err := s.bucket.Put(work, s.bucket.Write(h.key, nil, h.Revision))
		if err == nil {
			return nil
		}
		// A renewal may have been under way, or the answer was lost.
		e, failed := s.read(work, h.key)
		switch {
		case failed == nil && (!e.held || e.ID != h.value.ID):
			return nil
		case failed == nil:
			h.Revision = e.revision
		}
		if !bucket.Pause(work, attempts) {
			return s.unavailable(whole, "release", l.Device(), began, err)
		}
	}
}
