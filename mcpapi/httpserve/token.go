package httpserve

import (
	"crypto/sha256"
	"crypto/subtle"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// A Token is a bearer token (RFC 6750) that a request may carry.
type Token struct {
	Name     string // name in the audit log; not a secret
	Value    string
	ReadOnly bool // requests with it must not type
}

// A key is a Token prepared for comparison: its digest replaces its value in memory.
type key struct {
	Token
	digest [sha256.Size]byte
	rate   *rate.Limiter // nil: no limit
}

// A keyring holds the keys. If it has no keys, every request is admitted.
type keyring struct {
	keys   []*key
	nobody *key // key of requests without a token
}

// burst is the number of seconds for which requests may be saved up.
const burst = 5

// newKeyring returns the keys for tokens, each limited to perSecond requests per second;
// 0 means no limit.
func newKeyring(tokens []Token, perSecond int) keyring {
	make := func(t Token) *key {
		k := &key{Token: t, digest: sha256.Sum256([]byte(t.Value))}
		k.Value = ""
		if perSecond > 0 {
			k.rate = rate.NewLimiter(rate.Limit(perSecond), perSecond*burst)
		}
		return k
	}
	var r keyring
	for _, t := range tokens {
		r.keys = append(r.keys, make(t))
	}
	r.nobody = make(Token{})
	return r
}

// of returns the key of a request. It compares the token with all keys in constant time,
// so that the time of a refusal does not reveal which part of a token is wrong.
func (r keyring) of(req *http.Request) (*key, *refusal) {
	if len(r.keys) == 0 {
		return r.nobody, nil
	}
	given := req.Header.Values("Authorization")
	scheme, value, _ := strings.Cut(strings.Join(given, ","), " ")
	if len(given) != 1 || !strings.EqualFold(scheme, "Bearer") {
		return nil, unauthorized(
			`Bearer realm="ptyctl"`,
			"token missing; send it as the header Authorization: Bearer TOKEN",
		)
	}
	digest := sha256.Sum256([]byte(strings.TrimSpace(value)))
	var found *key
	for _, k := range r.keys {
		if subtle.ConstantTimeCompare(digest[:], k.digest[:]) == 1 {
			found = k
		}
	}
	if found == nil {
		return nil, unauthorized(
			`Bearer realm="ptyctl", error="invalid_token"`,
			"this server knows no such token; ask its operator for one",
		)
	}
	return found, nil
}

// unauthorized refuses a request. RFC 6750 section 3 demands the challenge.
func unauthorized(challenge, message string) *refusal {
	r := refuse(http.StatusUnauthorized, message)
	r.header("WWW-Authenticate", challenge)
	return r
}

// mayGoOn counts a request and refuses it if the token's rate is exceeded. The refusal
// says how long to wait.
func (k *key) mayGoOn() *refusal {
	if k.rate == nil || k.rate.Allow() {
		return nil
	}
	turn := k.rate.Reserve()
	wait := turn.Delay()
	if wait == 0 {
		return nil
	}
	turn.Cancel()
	seconds := strconv.Itoa(int(math.Ceil(wait.Seconds())))
	r := refuse(
		http.StatusTooManyRequests,
		"too many requests with this token; wait "+
			(wait.Round(time.Millisecond)+time.Millisecond).String()+", then send this again",
	)
	r.header("Retry-After", seconds)
	return r
}
