package lockmgr

import (
	"errors"
	"fmt"
	"time"
)

// ErrNotHeld says that neither the caller nor another holder has a live lease: it
// expired, was released or was never granted. Acquire grants a new one. From CheckEpoch
// it may also mean that the caller's live lease is a later grant.
var ErrNotHeld = errors.New("lease not held")

// ErrInvalid says that an argument can never be valid. The error that wraps it says which
// one, and what to pass.
var ErrInvalid = errors.New("invalid argument")

// HeldError says that another holder has the live lease of the key.
type HeldError[H comparable] struct {
	Lease Lease[H] // the lease of the other holder
}

// Error names the holder and the expiry.
func (e *HeldError[H]) Error() string {
	return fmt.Sprintf("lockmgr: %q is held by %q until %s; try again then, or ask the holder to release it",
		e.Lease.Key, fmt.Sprint(e.Lease.Holder), e.Lease.Expires.Format(time.RFC3339))
}

// validate checks the arguments of a grant.
func validate[H comparable](op, key string, holder H, ttl time.Duration) error {
	if err := validateHolder(op, key, holder); err != nil {
		return err
	}
	if ttl <= 0 {
		return fmt.Errorf("lockmgr: %s %q: %w: the TTL is %v; pass a positive duration", op, key, ErrInvalid, ttl)
	}
	return nil
}

// validateHolder checks the key and that the holder is not the zero value, which means no
// holder.
func validateHolder[H comparable](op, key string, holder H) error {
	if err := validateKey(op, key); err != nil {
		return err
	}
	var none H
	if holder == none {
		return fmt.Errorf("lockmgr: %s %q: %w: the holder is empty; pass the future holder of the lease",
			op, key, ErrInvalid)
	}
	return nil
}

func validateKey(op, key string) error {
	if key == "" {
		return fmt.Errorf("lockmgr: %s: %w: the key is empty; pass the name of the thing to lease", op, ErrInvalid)
	}
	return nil
}

func notHeld(op, key string) error {
	return fmt.Errorf(
		"lockmgr: %s %q: %w: it expired, was released or was never acquired; acquire it first",
		op,
		key,
		ErrNotHeld,
	)
}
