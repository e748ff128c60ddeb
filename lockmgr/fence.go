package lockmgr

import (
	"fmt"
	"time"
)

// Check reports whether holder may act on the key now: nobody has the lease, or
// holder has it. Otherwise the error is a *HeldError. The zero H is somebody
// without a lease.
//
// The epoch is that of holder's grant, or 0 if nobody has the lease. Give it to
// CheckEpoch when the act comes later than the check.
func (t *Table[H]) Check(key string, holder H) (epoch uint64, err error) {
	if err := validateKey("check", key); err != nil {
		return 0, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	l, ok := t.live(key, time.Now())
	switch {
	case !ok:
		return 0, nil
	case l.Holder != holder:
		return 0, &HeldError[H]{Lease: l}
	default:
		return l.Epoch, nil
	}
}

// CheckEpoch is the fence: it reports whether what Check allowed is still allowed.
//
// For an epoch above 0 that grant must be the live lease, and holder's. The error
// is a *HeldError if another has the lease by now. It wraps ErrNotHeld if nobody
// has, or if holder has it under another grant: in between anybody could have had it.
//
// Epoch 0 stands for a key that nobody held; still nobody, or holder, must have it.
func (t *Table[H]) CheckEpoch(key string, holder H, epoch uint64) error {
	if epoch == 0 {
		_, err := t.Check(key, holder)
		return err
	}
	if err := validateKey("check", key); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	l, err := t.heldBy("check", key, holder, time.Now())
	if err != nil {
		return err
	}
	if l.Epoch != epoch {
		return fmt.Errorf(
			"lockmgr: check %q: %w under epoch %d, which has ended; the holder has epoch %d now: check again before acting",
			key,
			ErrNotHeld,
			epoch,
			l.Epoch,
		)
	}
	return nil
}
