package lease

import (
	"context"
	"time"

	"ptyctl/devlock"
)

// inherit keeps a device whose key had expired until its former owner cannot count on it any more, and then gives it
// back. The servers count the age of a key by their wall clocks: if one has jumped, the key has expired too early. The
// node that finds that keeps the key, because no clock of the servers can tell the others how long ago it was.
func (s *Store) inherit(h *held) error {
	patience := s.o.times().Patience()
	s.heirs.Go(func() {
		lost := make(chan struct{})
		stop := h.lease.AfterEnd(func(error) { close(lost) })
		defer stop()
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-lost: // the next who wants the device waits anew
			return
		case <-s.ctx.Done():
			return
		}
		ctx, cancel := context.WithTimeout(s.ctx, s.o.Timeout)
		defer cancel()
		if s.renewals.do(ctx, func() { h.value.Heir = false }) == nil {
			_ = s.Release(ctx, h.lease) // after an error the key expires, and the next one waits anew
		}
	})
	return &devlock.HeldError{Device: h.value.Device, Owner: h.value.Owner, Left: patience}
}
