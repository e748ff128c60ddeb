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

// A Token is what a request must bear to be let in, as RFC 6750 describes it.
type Token struct {
	Name     string // for the record; not a secret
	Value    string
	ReadOnly bool // whoever bears it may do only what does not type
}

// A key is a Token as requests are compared with it.
type key struct {
	Token
	digest [sha256.Size]byte
	rate   *rate.Limiter // nil: no limit
}

// keyring are the keys; none means that everybody may come in.
type keyring struct {
	keys   []*key
	nobody *key // who comes in without a token
}

// burst is how many seconds' worth of requests may come at once.
const burst = 5

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

// of returns the key that r bears. It takes the same time whichever token is wrong, and wherever.
func (r keyring) of(req *http.Request) (*key, *refusal) {
	if len(r.keys) == 0 {
		return r.nobody, nil
	}
	given := req.Header.Values("Authorization")
	scheme, value, _ := strings.Cut(strings.Join(given, ","), " ")
	if len(given) != 1 || !strings.EqualFold(scheme, "Bearer") {
		return nil, unauthorized(
			`Bearer realm="ptyctl"`,
			"this server needs a token; send it as the header Authorization: Bearer TOKEN",
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

func unauthorized(challenge, message string) *refusal {
	r := refuse(http.StatusUnauthorized, message)
	r.header("WWW-Authenticate", challenge)
	return r
}

// mayGoOn counts a request, and refuses it if there were too many.
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
		"too many requests with this token; wait "+(wait.Round(time.Millisecond)+time.Millisecond).String()+", then send this again",
	)
	r.header("Retry-After", seconds)
	return r
}
