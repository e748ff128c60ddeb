package source

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// guard is the part of a time step at its end in which no code is given out: the server may see it in the next one.
	guard = time.Second

	defaultStep = 30 * time.Second
)

// totp is totp:. A server accepts each code once, so it gives out one code for a time step and waits for the next step
// otherwise.
type totp struct {
	key Source
	now func() time.Time

	mu   sync.Mutex
	last int64 // the last step of which a code was given out
}

func newTOTP(rest string, o Options) (Source, error) {
	key, err := Parse(rest, o)
	if err != nil {
		return nil, err
	}
	if _, nested := key.(*totp); nested {
		return nil, errors.New("a code is no key of another code")
	}
	return &totp{key: key, now: o.Now, last: -1}, nil
}

// Fetch returns a code. It may wait for the next time step.
func (t *totp) Fetch(ctx context.Context) ([]byte, error) {
	text, err := t.key.Fetch(ctx)
	if err != nil {
		return nil, err
	}
	defer clear(text)
	g, err := readGenerator(text)
	if err != nil {
		return nil, err
	}
	defer clear(g.key)
	for {
		wait, step := t.take(g.step)
		if wait == 0 {
			return g.code(step), nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, fmt.Errorf("the next code is due in %v: %w", wait.Round(time.Second), ctx.Err())
		}
	}
}

// take returns how long to wait before the next code may be given out, or the step of the code.
func (t *totp) take(step time.Duration) (wait time.Duration, counter int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now().UnixNano()
	counter = now / int64(step)
	left := time.Duration((counter+1)*int64(step) - now)
	if left <= guard || counter == t.last {
		return left, 0
	}
	t.last = counter
	return 0, counter
}

// A generator makes the codes of a key.
type generator struct {
	key    []byte
	step   time.Duration
	digits int
	hash   func() hash.Hash
}

// readGenerator reads a key in base32, or an otpauth URI of type totp (github.com/google/google-authenticator, "Key Uri
// Format").
func readGenerator(text []byte) (*generator, error) {
	g := &generator{step: defaultStep, digits: 6, hash: sha1.New}
	secret := string(text)
	if bytes.HasPrefix(text, []byte("otpauth:")) {
		u, err := url.Parse(secret)
		if err != nil || u.Host != "totp" {
			return nil, errors.New("its value is no otpauth URI of type totp")
		}
		q := u.Query()
		secret = q.Get("secret")
		switch name := strings.ToUpper(q.Get("algorithm")); name {
		case "", "SHA1":
		case "SHA256":
			g.hash = sha256.New
		case "SHA512":
			g.hash = sha512.New
		default:
			return nil, errors.New("its otpauth URI has an algorithm other than SHA1, SHA256 and SHA512")
		}
		if n, err := strconv.Atoi(q.Get("digits")); err == nil {
			g.digits = n
		}
		if n, err := strconv.Atoi(q.Get("period")); err == nil {
			g.step = time.Duration(n) * time.Second
		}
	}
	if g.digits < 6 || g.digits > 8 || g.step < 10*time.Second || g.step > time.Hour {
		return nil, errors.New("its otpauth URI must have 6 to 8 digits and a period of 10 seconds to an hour")
	}
	secret = strings.ToUpper(strings.NewReplacer(" ", "", "-", "", "=", "").Replace(secret))
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret)
	if err != nil || len(key) == 0 {
		return nil, errors.New("its value is no key in base32") // err tells a position in the key
	}
	g.key = key
	return g, nil
}

// code returns the code of a step (RFC 4226, section 5.3).
func (g *generator) code(counter int64) []byte {
	mac := hmac.New(g.hash, g.key)
	_ = binary.Write(mac, binary.BigEndian, counter)
	sum := mac.Sum(nil)
	n := binary.BigEndian.Uint32(sum[sum[len(sum)-1]&0xf:]) & 0x7fffffff
	mod := uint32(1)
	for range g.digits {
		mod *= 10
	}
	return fmt.Appendf(nil, "%0*d", g.digits, n%mod)
}
