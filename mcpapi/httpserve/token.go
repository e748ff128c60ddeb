package httpserve

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"golang.org/x/time/rate"

	"ptyctl/internal/mcpgo"
)

// A Token is a bearer token (RFC 6750) that a request may carry.
type Token struct {
	Name     string            // name in the audit log; not a secret, and without a colon
	Value    string            // empty: Digest is its SHA-256
	Digest   [sha256.Size]byte // not used if there is a Value
	ReadOnly bool              // requests with it must not type
	Person   bool              // opens only Options.Page, which no other token opens
	Expires  time.Time         // requests with it end then; zero: never
}

// A key is a Token prepared for comparison: its digest replaces its value in memory.
type key struct {
	Token
	rate limiter
	gone context.Context // ends when the token is withdrawn or expires
	end  context.CancelCauseFunc

	watched bool   // its visits end with it
	issuer  string // of the access token, if the key is of one; else ""
}

// A keyring holds the keys. If it is open, every request is admitted.
type keyring struct {
	keys      []*key
	open      bool
	nobody    *key // key of requests without a token
	perSecond int  // requests; 0: no limit
}

// newKey returns the key for a token.
func newKey(t Token, l limiter) *key {
	if t.Value != "" {
		t.Digest, t.Value = sha256.Sum256([]byte(t.Value)), ""
	}
	k := &key{Token: t, rate: l}
	ctx, end := context.WithCancelCause(context.Background())
	k.gone, k.end = ctx, end
	if !t.Expires.IsZero() {
		limited, stop := context.WithDeadlineCause(ctx, t.Expires, errExpired)
		k.gone, k.end = limited, func(cause error) {
			end(cause)
			stop()
		}
	}
	return k
}

// burst is the number of seconds for which requests may be saved up.
const burst = 5

// newKeyring returns the keys for tokens, each limited to perSecond requests per second;
// 0 means no limit.
func newKeyring(tokens []Token, perSecond int) keyring {
	r := keyring{perSecond: perSecond, open: len(tokens) == 0, nobody: newKey(Token{}, newLimiter(perSecond))}
	for _, t := range tokens {
		r.keys = append(r.keys, newKey(t, newLimiter(perSecond)))
	}
	return r
}

// replaced returns the keys for other tokens, and the keys of r that are not among them. An unchanged token keeps its
// key, and with it the requests that it has saved up. Only a keyring that is open, and gets no tokens, stays open.
func (r keyring) replaced(tokens []Token) (next keyring, withdrawn []*key) {
	next = newKeyring(tokens, r.perSecond)
	next.nobody, next.open = r.nobody, r.open && next.open
	if r.open && !next.open {
		withdrawn = append(withdrawn, r.nobody)
	}
	for _, old := range r.keys {
		if i := slices.IndexFunc(next.keys, old.same); i >= 0 {
			next.keys[i].end(nil)
			next.keys[i] = old
		} else {
			withdrawn = append(withdrawn, old)
		}
	}
	return next, withdrawn
}

// same reports whether two keys are of one token.
func (k *key) same(o *key) bool {
	a, b := k.Token, o.Token
	a.Expires, b.Expires = time.Time{}, time.Time{}
	return a == b && k.Expires.Equal(o.Expires)
}

// named returns the key of a token by its name, or nil.
func (r keyring) named(name string) *key {
	for _, k := range r.keys {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// errWithdrawn is the cause with which requests end when their token is withdrawn.
var errWithdrawn = errors.New("the token was withdrawn")

// errExpired is the cause with which requests end when their token expires.
var errExpired = errors.New("the token has expired")

// SetTokens replaces the tokens. Requests, streams and visits of a token end if it is no longer among them, or has
// another value or role. A handler that once had tokens admits no request without one, even after the last is gone.
func (h *Handler) SetTokens(tokens []Token) (withdrawn int) {
	h.setting.Lock()
	defer h.setting.Unlock()
	next, gone := h.tokens.Load().replaced(tokens)
	h.tokens.Store(&next)
	h.endVisits(&next)
	h.sessions.limit(maxSessions, len(tokens))
	for _, k := range gone {
		k.end(errWithdrawn) // before its visits end: a visit that begins now sees it
		if h.o.Page != nil && k.Person {
			h.o.Page.Withdraw(k.Name)
		}
	}
	return len(gone)
}

// of returns the key of a request. It compares the token with all keys in constant time,
// so that the time of a refusal does not reveal which part of a token is wrong.
func (r keyring) of(req *http.Request) (*key, *refusal) {
	if r.open {
		return r.nobody, nil
	}
	value, bad := bearer(req)
	if bad != nil {
		return nil, bad
	}
	digest := sha256.Sum256([]byte(value))
	var found *key
	for _, k := range r.keys {
		if subtle.ConstantTimeCompare(digest[:], k.Digest[:]) == 1 {
			found = k
		}
	}
	if found == nil {
		return nil, unknownToken("this server knows no such token; ask its operator for one")
	}
	if !found.Expires.IsZero() && !time.Now().Before(found.Expires) {
		return nil, unknownToken("this token has expired; ask the server's operator for another")
	}
	return found, nil
}

// endVisits has the visits of people end when their tokens expire. The caller holds h.setting, or has just made h.
func (h *Handler) endVisits(r *keyring) {
	for _, k := range r.keys {
		if h.o.Page == nil || !k.Person || k.Expires.IsZero() || k.watched {
			continue
		}
		k.watched = true
		context.AfterFunc(k.gone, func() {
			if errors.Is(context.Cause(k.gone), errExpired) && h.tokens.Load().named(k.Name) == k {
				h.o.Page.Withdraw(k.Name)
			}
		})
	}
}

// bearer returns the bearer token that a request carries.
func bearer(r *http.Request) (value string, bad *refusal) {
	given := r.Header.Values("Authorization")
	scheme, value, _ := strings.Cut(strings.Join(given, ","), " ")
	if len(given) != 1 || !strings.EqualFold(scheme, "Bearer") {
		return "", unauthorized(
			`Bearer realm="ptyctl"`,
			"token missing; send it as the header Authorization: Bearer TOKEN",
		)
	}
	return strings.TrimSpace(value), nil
}

// unknownToken refuses a request with a wrong token.
func unknownToken(message string) *refusal {
	return unauthorized(`Bearer realm="ptyctl", error="invalid_token"`, message)
}

// unauthorized refuses a request. RFC 6750 section 3 demands the challenge.
func unauthorized(challenge, message string) *refusal {
	r := refuse(http.StatusUnauthorized, message)
	r.header("WWW-Authenticate", challenge)
	return r
}

// A limiter limits requests per second.
type limiter struct{ *rate.Limiter } // nil: no limit

func newLimiter(perSecond int) limiter {
	if perSecond == 0 {
		return limiter{}
	}
	return limiter{rate.NewLimiter(rate.Limit(perSecond), perSecond*burst)}
}

// limiter returns the limiter of a request with key k. Without tokens nothing tells clients apart but their
// connections, and they must not slow each other down: all are users of this machine.
func (r keyring) limiter(k *key, c *connection) limiter {
	if k != r.nobody || c == nil {
		return k.rate
	}
	if c.rate == nil {
		c.rate = newLimiter(r.perSecond).Limiter
	}
	return limiter{c.rate}
}

// mayGoOn counts a request and refuses it if the rate is exceeded. The refusal says how long to wait.
func (l limiter) mayGoOn() *refusal {
	if l.Limiter == nil || l.Allow() {
		return nil
	}
	turn := l.Reserve()
	wait := turn.Delay()
	if wait == 0 {
		return nil
	}
	turn.Cancel()
	seconds := strconv.Itoa(int(math.Ceil(wait.Seconds())))
	r := refuse(
		http.StatusTooManyRequests,
		"too many requests (server.http.rate_limit); wait "+
			(wait.Round(time.Millisecond)+time.Millisecond).String()+", then send this again",
	)
	r.header("Retry-After", seconds)
	return r
}

// maxUnlimited is the longest message that is read above the rate, in bytes.
const maxUnlimited = 4 << 10

// unlimited reports whether a request above the rate is served nevertheless; it reads the body for that, if it is
// short, and puts it back.
func (h *Handler) unlimited(w *answer, r *http.Request) bool {
	if h.o.Unlimited == nil || r.Method != http.MethodPost || r.ContentLength <= 0 || r.ContentLength > maxUnlimited {
		return false
	}
	_ = w.control.SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := io.ReadAll(r.Body)
	_ = w.control.SetReadDeadline(time.Time{})
	if err != nil {
		return false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	e := envelope{body: body}
	if e.open() != nil || e.method != string(mcp.MethodToolsCall) {
		return false
	}
	call, ok := mcpgo.ReadCall(e.params)
	if !ok { // of a revision that names its client in each message
		var named struct {
			Name      string
			Arguments json.RawMessage
		}
		if json.Unmarshal(e.params, &named) != nil {
			return false
		}
		call.Name, call.Arguments = named.Name, named.Arguments
	}
	return h.o.Unlimited(call.Name, call.Arguments)
}
