// Package inorder lets the calls of a client take effect in the order in which the client sends them.
//
// A client may send calls without waiting for answers, and each call runs in a goroutine of its own. Two writes into one
// terminal must still be typed in their order. So the reader of the client's messages gives each call a Place in a Line.
// A call waits, before it acts, until the calls before it that are about the same subject have passed: they have ended,
// or have gone so far that no later call can overtake them.
package inorder

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Subject is what a call is about: a terminal, or a file of a machine.
type Subject struct {
	Name  string // of the terminal, or of the machine with the file
	Path  string // of the file, cleaned; empty: of the terminal
	Reads bool   // the call reads the file: calls that read it, too, need not wait for it
}

// meets reports whether a call about s and one about t must keep their order. A folder meets all that is in it.
func (s Subject) meets(t Subject) bool {
	return s.Name == t.Name && !(s.Reads && t.Reads) &&
		(s.Path == t.Path || below(s.Path, t.Path) || below(t.Path, s.Path))
}

// below reports whether a file is in a folder, at any depth.
func below(file, folder string) bool {
	rest, ok := strings.CutPrefix(file, folder)
	return ok && folder != "" && (rest == "" || rest[0] == '/' || strings.HasSuffix(folder, "/"))
}

// meet reports whether two calls must keep their order. A call without a subject keeps none.
func meet(a, b []Subject) bool {
	return slices.ContainsFunc(a, func(s Subject) bool { return slices.ContainsFunc(b, s.meets) })
}

// A Line has the calls of a client that have not passed yet. Make it with New; a nil Line keeps no order.
type Line struct {
	about func(call json.RawMessage) []Subject

	mu     sync.Mutex // guards the following, and the fields of the places
	places []*Place   // in the order of the calls
}

// New returns a Line without calls. about reads what a call is about.
func New(about func(call json.RawMessage) []Subject) *Line { return &Line{about: about} }

// A Place is that of a call in its Line. A nil Place has no call before it or behind it.
type Place struct {
	line   *Line           // nil: in a line elsewhere
	report func()          // has it pass there
	once   sync.Once       // runs report
	call   json.RawMessage // nil: about was read, or the call has passed
	about  []Subject
	before []*Place      // that the call must let pass
	passed chan struct{} // closed when the call has passed; nil: no call waits for it so far
	gone   bool          // it has passed
}

// Join gives a call the last place. Calls must join in the order in which the client has sent them; Pass must follow.
func (l *Line) Join(call json.RawMessage) *Place {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p := &Place{line: l, call: call}
	// Most calls are alone, and nobody needs to know what they are about.
	if len(l.places) > 0 {
		p.read()
	}
	for _, other := range l.places {
		other.read()
		if !meet(other.about, p.about) {
			continue
		}
		if other.passed == nil {
			other.passed = make(chan struct{})
		}
		p.before = append(p.before, other)
	}
	l.places = append(l.places, p)
	return p
}

// Elsewhere returns the place of a call that waits in a line elsewhere, for example at another node, where it has let all
// calls before it pass. Its first Pass calls report, which has it pass there. Over must follow.
func Elsewhere(report func()) *Place { return &Place{report: report} }

// Over ends the place of a call that waits elsewhere: report does not run after it.
func (p *Place) Over() { p.once.Do(func() {}) }

// read reads what the call is about, once. It requires Line.mu.
func (p *Place) read() {
	if p.call != nil {
		p.about, p.call = p.line.about(p.call), nil
	}
}

// Wait waits until the calls before it about the same subject have passed, or ctx ends. After limit it returns
// context.DeadlineExceeded. Without such calls it returns nil at once.
func (p *Place) Wait(ctx context.Context, limit time.Duration) error {
	if p == nil || len(p.before) == 0 {
		return nil
	}
	late := time.NewTimer(limit)
	defer late.Stop()
	for _, other := range p.before {
		select {
		case <-other.passed:
		case <-ctx.Done():
			return ctx.Err()
		case <-late.C:
			return context.DeadlineExceeded
		}
	}
	return nil
}

// Pass lets the calls behind it go on. Only the first Pass of a Place has an effect.
func (p *Place) Pass() {
	if p == nil {
		return
	}
	l := p.line
	if l == nil {
		p.once.Do(p.report)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.gone {
		return
	}
	p.gone, p.call = true, nil
	if p.passed != nil {
		close(p.passed)
	}
	i := slices.Index(l.places, p)
	l.places = slices.Delete(l.places, i, i+1)
}

type placeKey struct{}

// With returns a context that carries the place of a call.
func With(ctx context.Context, p *Place) context.Context {
	if p == nil {
		return ctx
	}
	return context.WithValue(ctx, placeKey{}, p)
}

// From returns the place of the call with the context ctx, or nil.
func From(ctx context.Context) *Place {
	p, _ := ctx.Value(placeKey{}).(*Place)
	return p
}

// Pass is From(ctx).Pass: the call has gone so far that no later one can overtake it, or is about to wait for a person,
// whom later calls must not wait for.
func Pass(ctx context.Context) { From(ctx).Pass() }
