package oauth_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/mcpapi/oauth"
)

// long is how long the tokens of these tests are valid.
const long = 30 * 24 * time.Hour

// of returns a token of the key ed with this key id.
func of(id string) string {
	return sign(ed, `{"alg":"EdDSA","kid":"`+id+`"}`, claims(fmt.Sprint("exp:", time.Now().Add(long).Unix())))
}

// kind returns the kind of a refusal; -1: the token is accepted.
func kind(t *testing.T, v *oauth.Verifier, token string) oauth.Kind {
	t.Helper()
	_, err := v.Verify(t.Context(), token)
	if err == nil {
		return -1
	}
	e, ok := errors.AsType[*oauth.Error](err)
	if !ok {
		t.Fatalf("Verify = %v, want an *oauth.Error", err)
	}
	return e.Kind
}

// A new key is fetched when the first token names it, and the key that was taken away is refused from then on. Unknown
// key ids have the keys fetched once a minute, however many there are.
func TestRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer()
		v, _ := i.verifier(t)
		if i.asked(keysURL) != 0 {
			t.Error("the keys were fetched before they were needed")
		}
		old := of("d")
		for range 3 {
			if k := kind(t, v, old); k != -1 {
				t.Fatalf("the first key is refused: %d", k)
			}
		}
		if n := i.asked(keysURL); n != 1 {
			t.Fatalf("the keys were fetched %d times for three tokens, want once", n)
		}
		i.change(func(i *issuer) { i.keys = []string{jwk(ed.Public(), `,"kid":"d2"`)} })
		if k := kind(t, v, old); k != -1 { // the set is still fresh
			t.Errorf("the key that was known is refused: %d", k)
		}
		if k := kind(t, v, of("d2")); k != -1 {
			t.Errorf("the new key is refused: %d", k)
		}
		if k := kind(t, v, old); k != oauth.Invalid {
			t.Errorf("the key that was taken away is accepted: %d", k)
		}
		before := i.asked(keysURL)
		begin := time.Now()
		for n := 0; time.Since(begin) < 10*time.Minute; n++ {
			if k := kind(t, v, of(fmt.Sprint("x", n))); k != oauth.Invalid {
				t.Fatalf("an unknown key id: %d, want it refused", k)
			}
			time.Sleep(100 * time.Millisecond)
		}
		// 6000 tokens in ten minutes. The fetch for d2 counts for the first minute.
		if n := i.asked(keysURL) - before; n != 9 {
			t.Errorf("6000 unknown key ids in ten minutes had the keys fetched %d times, want once a minute", n)
		}
		// Tokens that are of another issuer anyway use up no fetch.
		time.Sleep(time.Minute)
		before = i.asked(keysURL)
		_ = kind(t, v, sign(ed, `{"alg":"EdDSA","kid":"y"}`, claims(`iss:"https://evil.test"`)))
		if i.asked(keysURL) != before {
			t.Error("a token of another issuer had the keys fetched")
		}
	})
}

// A key that is removed without a successor is refused when the cached keys expire.
func TestRevokedKey(t *testing.T) {
	for header, fresh := range map[string]time.Duration{
		"":                         time.Hour,
		"public, max-age=1800":     30 * time.Minute,
		"max-age=1":                5 * time.Minute,
		"no-store":                 5 * time.Minute,
		"No-Cache, max-age=9000":   5 * time.Minute,
		"MAX-AGE=\"99999999\"":     24 * time.Hour,
		"max-age=soon, s-maxage=1": time.Hour,
	} {
		synctest.Test(t, func(t *testing.T) {
			i := newIssuer()
			if header != "" {
				i.header.Set("Cache-Control", header)
			}
			v, _ := i.verifier(t)
			token := of("d")
			_ = kind(t, v, token)
			i.change(func(i *issuer) { i.keys = i.keys[:1] })
			time.Sleep(fresh - time.Second)
			if k := kind(t, v, token); k != -1 || i.asked(keysURL) != 1 {
				t.Errorf("%q: within the time of the cache: %d after %d fetches, want it accepted", header, k, i.asked(keysURL))
			}
			time.Sleep(2 * time.Second)
			if k := kind(t, v, token); k != oauth.Invalid {
				t.Errorf("%q: a revoked key is accepted after %v", header, fresh)
			}
		})
	}
}

// Without the issuer the keys stay in use for a day longer, and the issuer is asked once a minute. Then tokens are
// refused until it is back.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer()
		v, log := i.verifier(t)
		token := of("d")
		_ = kind(t, v, token)
		down := errors.New("connection refused")
		i.change(func(i *issuer) { i.fails = down })
		time.Sleep(time.Hour + time.Second)
		before := i.asked(metadataURL)
		for range 600 {
			if k := kind(t, v, token); k != -1 {
				t.Fatalf("a good token is refused in an outage: %d", k)
			}
			time.Sleep(time.Second)
		}
		if n := i.asked(metadataURL) - before; n != 10 {
			t.Errorf("in ten minutes of an outage the issuer was asked %d times, want once a minute", n)
		}
		if k := kind(t, v, of("x")); k != oauth.Unavailable {
			t.Errorf("an unknown key in an outage: %d, want it unavailable: the key may be new", k)
		}
		if v.Failures() != 11 || strings.Count(log.String(), "stay in use") != 11 || !strings.Contains(log.String(), "connection refused") {
			t.Errorf("failures = %d and log %s; want each counted and logged", v.Failures(), log)
		}
		time.Sleep(24*time.Hour - 11*time.Minute)
		if k := kind(t, v, token); k != -1 {
			t.Errorf("after a day less a minute: %d, want the token accepted", k)
		}
		time.Sleep(2 * time.Minute)
		before = i.asked(metadataURL)
		for range 60 {
			if k := kind(t, v, token); k != oauth.Unavailable {
				t.Fatalf("after a day of an outage: %d, want the token refused for now", k)
			}
			time.Sleep(time.Second)
		}
		if n := i.asked(metadataURL) - before; n != 6 {
			t.Errorf("without a key the issuer was asked %d times in a minute, want every ten seconds", n)
		}
		i.change(func(i *issuer) { i.fails = nil })
		time.Sleep(10 * time.Second)
		if k := kind(t, v, token); k != -1 || !strings.Contains(log.String(), "fetched again") {
			t.Errorf("after the outage: %d, want the token accepted, and the log to say so: %s", k, log)
		}
	})
}

// Many requests wait for one fetch. The end of one request does not end the fetch, and none waits longer than ten
// seconds.
func TestOneFetchForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer()
		i.held = make(chan struct{})
		v, _ := i.verifier(t)
		token := of("d")
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var first error
		all.Go(func() { _, first = v.Verify(ctx, token) })
		results := make([]error, 100)
		for n := range results {
			all.Go(func() { _, results[n] = v.Verify(t.Context(), token) })
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		if e, ok := errors.AsType[*oauth.Error](first); !ok || e.Kind != oauth.Unavailable {
			t.Errorf("a request that has ended: %v, want it to have given up", first)
		}
		close(i.held)
		all.Wait()
		if err := errors.Join(results...); err != nil || i.asked(keysURL) != 1 {
			t.Errorf("the others: %v after %d fetches, want one for all", err, i.asked(keysURL))
		}

		i.change(func(i *issuer) { i.held = make(chan struct{}) })
		time.Sleep(2 * time.Hour)
		begin := time.Now()
		if k := kind(t, v, token); k != -1 || time.Since(begin) != 10*time.Second {
			t.Errorf("an issuer that hangs: %d after %v, want the keys that are known after 10 s", k, time.Since(begin))
		}
		begin = time.Now()
		if k := kind(t, v, token); k != -1 || time.Since(begin) != 0 {
			t.Errorf("the next request: %d after %v, want no wait", k, time.Since(begin))
		}
	})
}

// Close ends a fetch, and the requests that wait for it.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer()
		i.held = make(chan struct{})
		v, log := i.verifier(t)
		var waits sync.WaitGroup
		waits.Go(func() {
			if k := kind(t, v, of("d")); k != oauth.Unavailable {
				t.Errorf("a request at the end: %d, want it unavailable", k)
			}
		})
		synctest.Wait()
		v.Close()
		waits.Wait()
		if k := kind(t, v, of("d")); k != oauth.Unavailable || v.Failures() != 0 || log.String() != "" {
			t.Errorf("after the end: %d, %d failures, log %s; want it unavailable, and no failure", k, v.Failures(), log)
		}
	})
}
