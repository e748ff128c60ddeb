package aiterm

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"ptyctl/mcpapi"
	"ptyctl/session"
	"ptyctl/term"
)

// A Set is the tools, and what they have to remember. It must be one of the observers of the session.Manager. Make it with
// New.
type Set struct {
	began time.Time

	mu        sync.RWMutex // guards the following
	terminals map[string]*numbering
}

// New makes a Set.
func New() *Set { return &Set{began: time.Now(), terminals: make(map[string]*numbering)} }

// Name is the set's, for whoever offers it.
func (*Set) Name() string { return "aiterm" }

// Toolset returns the tools.
func (s *Set) Toolset() mcpapi.Toolset {
	return mcpapi.Toolset{
		Name:         s.Name(),
		Tools:        s.tools(),
		Instructions: instructions,
		Fail:         func(err error) mcpapi.Answer { return newFailure(err).answer() },
	}
}

// Observe implements term.Observer.
func (s *Set) Observe(e term.Event) {
	switch e.Verb {
	case term.VerbOutput:
		if n := s.numbering(e.Session); n != nil {
			n.came(e.Size, e.Time)
		}
	case term.VerbGone:
		s.forget(e.Session)
	}
}

func (s *Set) numbering(id string) *numbering {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.terminals[id]
}

func (s *Set) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.terminals, id)
}

// terminal returns one that pty_open has opened, if the caller may know of it.
func (s *Set) terminal(ctx context.Context, c *call, verb term.Verb, id string) (*session.Session, *numbering, error) {
	t, err := c.Session(ctx, verb, id)
	if err != nil {
		return nil, nil, err
	}
	n := s.numbering(id)
	if n == nil { // a session of other tools
		return nil, nil, c.Options().Sessions.Hide(ctx, verb, id)
	}
	return t, n, nil
}

// A call is one call of a tool of the set.
type call struct {
	*mcpapi.Call
	id       string // its correlation id
	began    time.Time
	warnings []string
}

// A meta is the part of an answer that all have in common.
type meta struct {
	CorrelationID string   `json:"correlation_id,omitempty"` // always there, but for a result within a failure
	DurationMS    int64    `json:"duration_ms"`
	Warnings      []string `json:"warnings,omitempty"`
}

func (m *meta) stamp(c *call) {
	m.CorrelationID, m.DurationMS, m.Warnings = c.id, time.Since(c.began).Milliseconds(), c.warnings
}

// A result is a struct with a meta in it.
type result interface{ stamp(c *call) }

// handler makes a Handler of what does the work of a tool.
func handler(do func(ctx context.Context, c *call) (result, error)) mcpapi.Handler {
	return func(ctx context.Context, given *mcpapi.Call) (mcpapi.Answer, error) {
		c := &call{Call: given, id: newCorrelation(), began: time.Now()}
		actor := term.ActorFrom(ctx)
		actor.Call = c.id
		out, err := do(term.WithActor(ctx, actor), c)
		if err != nil {
			return mcpapi.Answer{}, &failed{call: c, err: err}
		}
		out.stamp(c)
		return answer(out, false), nil
	}
}

func newCorrelation() string { return "call-" + strings.ToLower(rand.Text()[:16]) }

// answer is the JSON of v, whose members have the order of the struct.
func answer(v any, isError bool) mcpapi.Answer {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // nothing in it can fail to
	text := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	return mcpapi.Answer{Text: string(text), Structured: text, IsError: isError}
}
