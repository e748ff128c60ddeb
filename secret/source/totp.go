package source

import (
	"bytes"
	"cmp"
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

// totp is totp:. A server accepts each code once, so one code is given out for a time step; who comes later waits for the
// next step.
type totp struct {
	key   Source
	now   func() time.Time
	name  string // in codes
	codes *Codes
}

// Codes remembers the time steps of the codes that were returned. Sources that share it return no code twice, as long
// as their texts are equal. The zero value is ready to use.
type Codes struct {
	mu   sync.Mutex
	last map[string]int64 // the step of the last code that was returned, by the text of the key's source
}

func newTOTP(rest string, o Options) (Source, error) {
	key, err := Parse(rest, o)
	if err != nil {
		return nil, err
	}
	if _, nested := key.(*totp); nested {
		return nil, errors.New("a code is no key of another code")
	}
	return &totp{key: key, now: o.Now, name: rest, codes: cmp.Or(o.Codes, new(Codes))}, nil
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
		wait, step := t.codes.take(t.name, t.now().UnixNano(), int64(g.step))
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

// take returns how long to wait before the next code of a source may be given out, or the step of the code. All times are
// in nanoseconds.
func (c *Codes) take(source string, now, step int64) (wait time.Duration, counter int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	counter = now / step
	left := time.Duration((counter+1)*step - now)
	if last, given := c.last[source]; left <= guard || given && last == counter {
		return left, 0
	}
	if c.last == nil {
		c.last = make(map[string]int64)
	}
	c.last[source] = counter
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
