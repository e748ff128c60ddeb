package elicit

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"ptyctl/mcpapi/toolset"
	"ptyctl/session"
	"ptyctl/term"
)

// maxAsked limits the questions that clients have at a time; further ones are left to the caller. For askedMemory, a
// client with the answer can still get the outcome of its open.
const (
	maxAsked    = 1000
	askedMemory = 10 * time.Minute
)

// asked holds the questions that clients of revision 2026-07-28 get as the result of a call. Their requestState is a
// random token for an entry here, so a client cannot change the state.
type asked struct {
	key [32]byte

	mu      sync.Mutex // guards the following
	pending map[string]pendingAnswer
}

// newAsked makes an empty memory with a random key.
func newAsked() *asked {
	t := &asked{pending: make(map[string]pendingAnswer)}
	_, _ = rand.Read(t.key[:]) // never fails
	return t
}

// A pendingAnswer holds the data to continue an open, or a call that needs consent.
type pendingAnswer struct {
	consent *term.Consent // not nil: the question is this, and not one of a login
	refusal error         // that the call ends with, unless there is consent

	asking *session.Question
	form   mcp.ElicitationParams
	open   toolset.Opening
	notes  []string
	actor  term.Actor
	call   [sha256.Size]byte // of the open, see fingerprint
	since  time.Time
}

// by reports whether a is the caller that was asked.
func (p *pendingAnswer) by(a term.Actor) bool {
	return a.Principal().Client() == p.actor.Principal().Client()
}

// question returns the result that asks with a form, and keeps p for the answer. It returns nil if too many questions
// wait.
func (t *asked) question(c *toolset.Call, form mcp.ElicitationParams, p pendingAnswer) *mcp.CallToolResult {
	p.call = t.fingerprint(c)
	token, ok := t.put(p)
	if !ok {
		return nil
	}
	return server.NewInputRequestBuilder(token).Elicit(answerID, form).ToolResult()
}

// put stores p under a new random token. It reports false if too many questions wait.
func (t *asked) put(p pendingAnswer) (token string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p.since = time.Now()
	maps.DeleteFunc(t.pending, func(_ string, old pendingAnswer) bool { return p.since.Sub(old.since) > askedMemory })
	if len(t.pending) >= maxAsked {
		return "", false
	}
	token = rand.Text()
	t.pending[token] = p
	return token, true
}

// take returns and removes the entry of a token: each token works once.
func (t *asked) take(token string) (pendingAnswer, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, ok := t.pending[token]
	delete(t.pending, token)
	return p, ok
}

// fingerprint is the same for calls with the same arguments, however they are written.
func (t *asked) fingerprint(c *toolset.Call) (sum [sha256.Size]byte) {
	var args any
	_ = json.Unmarshal(c.Arguments(), &args) // errors were found before
	canonical, _ := json.Marshal(args)
	mac := hmac.New(sha256.New, t.key[:]) // keyed: the arguments may hold a password
	mac.Write(canonical)
	mac.Sum(sum[:0])
	return sum
}
