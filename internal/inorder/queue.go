// Package inorder lets the calls of a client take effect in the order in which the client sends them.
//
// A client may send calls without waiting for answers, and each call runs in a goroutine of its own. Two writes into one
// terminal must still be typed in their order. So the reader of the client's messages gives each call a turn in a Queue.
// A call waits, before it acts, until the calls before it that are about the same subject have passed: they have ended,
// or have gone so far that no later call can overtake them.
package inorder

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"
)

// A Queue has the calls of a client that have not passed yet. Make it with New; a nil Queue keeps no order.
type Queue struct {
	about func(call json.RawMessage) []Subject

	mu    sync.Mutex // guards the following, and the fields of the turns
	turns []*Turn    // in the order of the calls
}

// New returns a Queue without calls. about reads what a call is about.
func New(about func(call json.RawMessage) []Subject) *Queue { return &Queue{about: about} }

// A Turn is that of a call in its Queue. A nil Turn has no call before it or behind it.
type Turn struct {
	queue  *Queue          // nil: the queue is elsewhere
	report func()          // has the call pass there
	once   sync.Once       // runs report
	call   json.RawMessage // nil: about was read, or the call has passed
	about  []Subject
	before []*Turn       // that the call must let pass
	passed chan struct{} // closed when the call has passed; nil: no call waits for it so far
	gone   bool          // it has passed
	kept   bool          // see Keep
}

// Join puts a call at the end of the queue. Calls must join in the order in which the client has sent them; End must
// follow.
func (q *Queue) Join(call json.RawMessage) *Turn {
	if q == nil {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	t := &Turn{queue: q, call: call}
	// Most calls are alone, and it does not matter what they are about.
	if len(q.turns) > 0 {
		t.read()
	}
	for _, other := range q.turns {
		other.read()
		if !conflict(other.about, t.about) {
			continue
		}
		if other.passed == nil {
			other.passed = make(chan struct{})
		}
		t.before = append(t.before, other)
	}
	q.turns = append(q.turns, t)
	return t
}

// read reads what the call is about, once. It requires Queue.mu.
func (t *Turn) read() {
	if t.call != nil {
		t.about, t.call = t.queue.about(t.call), nil
	}
}

// Wait waits until the calls before it about the same subject have passed, or ctx ends. After the time that limit returns
// it returns context.DeadlineExceeded. Without such calls it returns nil at once, and does not call limit.
func (t *Turn) Wait(ctx context.Context, limit func() time.Duration) error {
	if t == nil || t.queue == nil {
		return nil
	}
	t.queue.mu.Lock()
	before := t.before
	t.before = nil // or each turn would hold all before it in memory
	t.queue.mu.Unlock()
	if len(before) == 0 {
		return nil
	}
	late := time.NewTimer(limit())
	defer late.Stop()
	for _, other := range before {
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

// Pass lets the calls behind it go on. Only the first Pass of a Turn has an effect.
func (t *Turn) Pass() {
	if t == nil {
		return
	}
	q := t.queue
	if q == nil {
		t.once.Do(t.report)
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.gone {
		return
	}
	t.gone, t.call, t.about, t.before = true, nil, nil, nil
	if t.passed != nil {
		close(t.passed)
	}
	i := slices.Index(q.turns, t)
	q.turns = slices.Delete(q.turns, i, i+1)
}

// Passed reports whether the call has passed. A nil Turn has, and one that waits elsewhere.
func (t *Turn) Passed() bool {
	if t == nil || t.queue == nil {
		return true
	}
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	return t.gone
}

// Keep says that the work of the call may outlast it: the call has not passed with its End, and Pass must follow that
// work.
func (t *Turn) Keep() {
	if t == nil || t.queue == nil {
		return
	}
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	t.kept = true
}

// End is Pass at the end of a call, unless its work goes on.
func (t *Turn) End() {
	if t == nil || t.queue == nil {
		t.Pass()
		return
	}
	t.queue.mu.Lock()
	kept := t.kept
	t.queue.mu.Unlock()
	if !kept {
		t.Pass()
	}
}

// Elsewhere returns the turn of a call that waits in a queue elsewhere, for example at another node, where it has let all
// calls before it pass. Its first Pass calls report, which has it pass there. Over must follow.
func Elsewhere(report func()) *Turn { return &Turn{report: report} }

// Over ends the turn of a call that waits elsewhere: report does not run after it.
func (t *Turn) Over() { t.once.Do(func() {}) }

type turnKey struct{}

// With returns a context that carries the turn of a call.
func With(ctx context.Context, t *Turn) context.Context {
	if t == nil {
		return ctx
	}
	return context.WithValue(ctx, turnKey{}, t)
}

// From returns the turn of the call with the context ctx, or nil.
func From(ctx context.Context) *Turn {
	t, _ := ctx.Value(turnKey{}).(*Turn)
	return t
}

// Pass is From(ctx).Pass: the call has gone so far that no later one can overtake it, or is about to wait for a person,
// whom later calls must not wait for.
func Pass(ctx context.Context) { From(ctx).Pass() }
