package lockmgr

import (
	"fmt"
	"time"
)

// Check reports whether holder may act on the key now: there is no live lease, or it
// belongs to holder. Otherwise the error is a *HeldError. The zero H is a caller without
// a lease.
//
// The epoch is that of holder's grant, or 0 without a live lease. Pass it to CheckEpoch
// if the act comes later than the check.
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

// CheckEpoch is the fence: it reports whether an act that Check has allowed is still
// allowed.
//
// For an epoch above 0, that grant must be the live lease, and holder must have it. The
// error is a *HeldError if another holder has the lease now. It wraps ErrNotHeld if there
// is no live lease, or if holder has a later grant, because another holder may have acted
// in between.
//
// Epoch 0 means that Check found no live lease. There must still be none, or holder must
// have it.
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
		return fmt.Errorf("lockmgr: check %q: %w under epoch %d, which has ended; the holder now has epoch %d: "+
			"check again before acting", key, ErrNotHeld, epoch, l.Epoch)
	}
	return nil
}
