package lease

import (
	"context"
	"time"

	"ptyctl/devlock"
)

// inherit keeps a device with a key that had expired until the former owner cannot rely on it any more, and then gives
// it back. The servers count the age of a key by their wall clocks: if one has jumped, the key has expired too early.
// The node that finds an expired key keeps it, because no clock of the servers can tell the others how long ago it
// expired.
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
		case <-lost: // the next node that wants the device waits the whole time
			return
		case <-s.ctx.Done():
			return
		}
		ctx, cancel := context.WithTimeout(s.ctx, s.o.Timeout)
		defer cancel()
		if s.renewals.do(ctx, func() { h.value.Heir = false }) == nil {
			_ = s.Release(ctx, h.lease) // after an error the key expires, and the next node waits the whole time
		}
	})
	return &devlock.HeldError{Device: h.value.Device, Owner: h.value.Owner, Left: patience}
}
