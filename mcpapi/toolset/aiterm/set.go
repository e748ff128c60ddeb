package aiterm

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/term"
)

// A Set holds the tools and their state. It must be an observer of the session.Manager;
// otherwise chunks have no arrival times. Use New to make one.
type Set struct {
	began time.Time

	mu        sync.RWMutex // guards the following
	terminals map[string]*numbering
}

// New makes a Set.
func New() *Set { return &Set{began: time.Now(), terminals: make(map[string]*numbering)} }

// Name returns the name by which the configuration and [mcpapi.Options] select the set.
func (*Set) Name() string { return "aiterm" }

// Toolset returns the tools for [mcpapi.Options].
func (s *Set) Toolset() toolset.Set {
	return toolset.Set{
		Name:         s.Name(),
		Tools:        s.tools(),
		Instructions: instructions,
		Fail:         func(err error) wire.Answer { return newFailure(err).answer() },
		Failure:      failure{},
	}
}

// Observe implements term.Observer. It extends the chunks of the session and removes them
// when the manager forgets it.
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

// numbering returns the chunks of a terminal, or nil if pty_open has not opened it.
func (s *Set) numbering(id string) *numbering {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.terminals[id]
}

// forget removes the chunks of a terminal.
func (s *Set) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.terminals, id)
}

// terminal returns a session that pty_open has opened, if the caller may see it. Sessions
// of other tools and unknown ids give the same error.
func (s *Set) terminal(ctx context.Context, c *call, verb term.Verb, id string) (*session.Session, *numbering, error) {
	t, err := c.Session(ctx, verb, id)
	if err != nil {
		return nil, nil, err
	}
	n := s.numbering(id)
	if n == nil { // a session of other tools
		return nil, nil, c.Hide(ctx, verb, id)
	}
	return t, n, nil
}

// A call is one call of a tool of this set.
type call struct {
	*toolset.Call
	id       string // correlation id, in the answer and in the audit log
	began    time.Time
	warnings []string
}

// A meta is the part that all answers share.
type meta struct {
	CorrelationID string   `json:"correlation_id,omitempty" is:"listed"` // empty only in a partial result within a failure
	DurationMS    int64    `json:"duration_ms" is:"listed"`
	Warnings      []string `json:"warnings,omitempty" is:"listed"`
}

// stamp fills in the correlation id, the duration and the warnings.
func (m *meta) stamp(c *call) {
	m.CorrelationID, m.DurationMS, m.Warnings = c.id, time.Since(c.began).Milliseconds(), c.warnings
}

// A result is a struct that embeds meta.
type result interface{ stamp(c *call) }

// handler adapts do to toolset.Handler. It gives the call a correlation id, which the
// audit log gets through the term.Actor.
func handler[A any, R result](
	do func(ctx context.Context, c *call, in *A) (R, error),
) func(context.Context, *toolset.Call, *A) (any, error) {
	return func(ctx context.Context, given *toolset.Call, in *A) (any, error) {
		c := &call{Call: given, id: newCorrelation(), began: time.Now()}
		actor := term.ActorFrom(ctx)
		actor.Call = c.id
		out, err := do(term.WithActor(ctx, actor), c, in)
		if err != nil {
			return nil, &failed{call: c, err: err}
		}
		c.warnings = append(c.warnings, c.Warnings()...)
		out.stamp(c)
		return out, nil
	}
}

// newCorrelation returns an id with 80 random bits, so that ids are unique across
// restarts.
func newCorrelation() string { return "call-" + strings.ToLower(rand.Text()[:16]) }

// answer returns v as JSON. The fields keep the order of the struct.
func answer(v any, isError bool) wire.Answer {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // every type here can be encoded
	text := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	return wire.Answer{Text: string(text), Structured: text, IsError: isError}
}
