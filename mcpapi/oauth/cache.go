package oauth

import (
	"context"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Times of the cache.
const (
	unknownEvery = time.Minute      // between two fetches for key ids that are not known
	retryAfter   = 10 * time.Second // after a failed fetch, if no key is known
	staleRetry   = time.Minute      // a fetch that has failed, where keys are known
	staleFor     = 24 * time.Hour   // keys are used so much longer than they may be cached, if the issuer fails
)

// A cache holds the keys of the issuer, and decides when they are fetched.
type cache struct {
	got      Fetched   // with no keys: never fetched
	fresh    time.Time // until then no fetch is needed
	usable   time.Time // until then the keys are used
	next     time.Time // no fetch before it, after one that has failed
	asked    time.Time // of the last fetch for an unknown key id
	failed   bool      // the last fetch has failed
	failures int64
	flight   chan struct{} // closed at the end of the running fetch; nil: no fetch runs
}

// errUnavailable is the error of a token that cannot be verified now.
var errUnavailable = &Error{Unavailable, "the keys of the token's issuer cannot be fetched now"}

// find returns the keys that may have signed a token with this key id ("": none) and algorithm.
func (v *Verifier) find(ctx context.Context, id string, algorithm jose.SignatureAlgorithm) ([]key, error) {
	keys, err := v.current(ctx)
	if err != nil {
		return nil, err
	}
	found, known := suitable(keys, id, algorithm)
	if !known {
		if keys, err = v.again(ctx); err != nil {
			return nil, err
		}
		found, known = suitable(keys, id, algorithm)
	}
	switch {
	case !known:
		return nil, invalid("the token's key is not among those of its issuer")
	case len(found) == 0:
		return nil, invalid("the token's algorithm is not that of its key")
	case id == "" && len(found) > 1:
		return nil, invalid("the token does not name its key, and its issuer has several")
	}
	return found, nil
}

// current returns the keys, and has them fetched if they are missing or too old.
func (v *Verifier) current(ctx context.Context) ([]key, error) {
	v.mu.Lock()
	now := time.Now()
	if now.Before(v.cache.fresh) || v.cache.flight == nil && now.Before(v.cache.next) {
		defer v.mu.Unlock()
		return v.cache.keys(now)
	}
	flight := v.beginLocked()
	v.mu.Unlock()
	return v.wait(ctx, flight)
}

// again returns the keys after another fetch, for a key id that is not among them; unless there was such a fetch within
// a minute, and without one after a failure.
func (v *Verifier) again(ctx context.Context) ([]key, error) {
	v.mu.Lock()
	now := time.Now()
	if v.cache.flight == nil && (now.Before(v.cache.next) || now.Before(v.cache.asked.Add(unknownEvery))) {
		defer v.mu.Unlock()
		if v.cache.failed {
			return nil, errUnavailable // it may be a new key
		}
		return v.cache.keys(now)
	}
	if v.cache.flight == nil {
		v.cache.asked = now
	}
	flight := v.beginLocked()
	v.mu.Unlock()
	keys, err := v.wait(ctx, flight)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.cache.failed {
		return nil, errUnavailable
	}
	return keys, err
}

// keys returns the keys if they may be used.
func (c *cache) keys(now time.Time) ([]key, error) {
	if now.Before(c.usable) {
		return c.got.keys, nil
	}
	return nil, errUnavailable
}

// wait waits for a fetch and returns the keys.
func (v *Verifier) wait(ctx context.Context, flight <-chan struct{}) ([]key, error) {
	select {
	case <-flight:
	case <-ctx.Done():
		return nil, errUnavailable
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.cache.keys(time.Now())
}

// beginLocked begins a fetch unless one runs, and returns a channel that is closed at its end. The fetch does not
// depend on the request that needs it: others wait for it, too. Requires v.mu.
func (v *Verifier) beginLocked() <-chan struct{} {
	if v.cache.flight != nil {
		return v.cache.flight
	}
	done := make(chan struct{})
	if v.life.Err() != nil {
		close(done)
		return done
	}
	v.cache.flight = done
	known := v.cache.got.Document
	v.running.Go(func() {
		got, err := v.fetch(v.life, known)
		v.settle(got, err)
		close(done)
	})
	return done
}

// settle stores the result of a fetch in the cache, and logs changes.
func (v *Verifier) settle(got Fetched, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	c, now := &v.cache, time.Now()
	c.flight = nil
	log := v.o.Logger.With("issuer", v.o.Issuer)
	if err == nil {
		if c.failed {
			log.Info("the keys of the OAuth issuer were fetched again", "keys", got.Keys)
		}
		c.got, c.failed, c.next = got, false, time.Time{}
		c.fresh = now.Add(got.fresh)
		c.usable = c.fresh.Add(staleFor)
		return
	}
	if v.life.Err() != nil {
		return // Close has ended it
	}
	c.failed = true
	c.failures++
	if now.Before(c.usable) {
		c.next = now.Add(staleRetry)
		log.Warn("the keys of the OAuth issuer could not be fetched; those that were fetched before stay in use",
			"until", c.usable, "error", err)
		return
	}
	c.next = now.Add(retryAfter)
	log.Error("the keys of the OAuth issuer could not be fetched; its tokens are refused until they are", "error", err)
}

// Failures returns how many fetches have failed.
func (v *Verifier) Failures() int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.cache.failures
}

// Check fetches the metadata and the keys of the issuer, and returns them, or why that failed.
func (v *Verifier) Check(ctx context.Context) (Fetched, error) {
	return v.fetch(ctx, "")
}
