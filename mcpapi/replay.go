package mcpapi

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"ptyctl/internal/inorder"
	"ptyctl/term"
)

// How many request ids are remembered per session, for how long, and how much their results may take in all.
const (
	// Per session, request ids are remembered up to this number and time; replayBytes bounds all their results
	// together.
	maxReplays   = 1000
	replayMemory = 10 * time.Minute
	replayBytes  = 32 << 20
)

// replays make retries safe: the first call with a request_id runs, and every later one gets its result. A client
// must not type a command twice because it lost an answer. Arguments may hold secrets, so only a keyed hash of them
// is kept.
type replays struct {
	key [32]byte

	mu    sync.Mutex                    // guards the following
	calls map[string]map[string]*replay // by scope (a session id, or "" for open), by request id
	bytes int                           // of all results
	order []*replay                     // the ended ones, in the order of their ends
}

// A replay is one call that was made, or is under way.
type replay struct {
	arguments [sha256.Size]byte
	begun     time.Time
	turn      *inorder.Turn // of the call
	done      chan struct{} // closed when v and err are set
	v         any
	err       error

	scope, id string
	size      int // of v in its sent form
}

// newReplays makes an empty memory with a random key.
func newReplays() *replays {
	r := &replays{calls: make(map[string]map[string]*replay)}
	_, _ = rand.Read(r.key[:]) // never fails
	return r
}

// do runs f once for an id, and returns its result to every call with that id and the same arguments. Other arguments
// under the same id are an error. f goes on when the caller that started it gives up, so that a retry finds its result.
func (r *replays) do(
	ctx context.Context,
	scope, id string,
	arguments []byte,
	f func(context.Context) (any, error),
) (any, error) {
	// A keyed hash replaces the arguments, which may hold a password and would be kept for minutes.
	mac := hmac.New(sha256.New, r.key[:])
	mac.Write(arguments)
	var sum [sha256.Size]byte
	mac.Sum(sum[:0])

	r.mu.Lock()
	calls := r.calls[scope]
	if calls == nil {
		calls = make(map[string]*replay)
		r.calls[scope] = calls
	}
	p := calls[id]
	if p == nil {
		p = &replay{arguments: sum, begun: time.Now(), turn: inorder.From(ctx), done: make(chan struct{}), scope: scope, id: id}
		r.forgetOld(calls)
		r.calls[scope] = calls // the last of them may just have been forgotten
		calls[id] = p
		r.mu.Unlock()
		inorder.From(ctx).Keep() // the client may give the call up before its end
		go r.run(ctx, p, f)      // ends with f, which has its own deadlines
	} else {
		r.mu.Unlock()
		if p.turn.Passed() {
			inorder.Pass(ctx) // to wait for the first call does nothing more
		}
	}
	// Without this check a reused id would return the result of another action, as if it had been done.
	if p.arguments != sum {
		return nil, &term.Error{
			Kind: term.InvalidArgument,
			Msg: "request_id " + id + " was used before with other arguments; repeat that call with the same arguments, " +
				"every one of them, for its result, and use a new request_id only for a new action",
			Facts: term.Facts{term.ArgumentFault{Field: "request_id"}},
		}
	}
	select {
	case <-p.done:
		return p.v, p.err
	case <-ctx.Done():
		return nil, &term.Error{
			Kind: term.Canceled,
			Msg: term.CanceledMsg(ctx,
				"the call was canceled, but what it started goes on; ask with the same request_id for its result"),
			Err: ctx.Err(),
		}
	}
}

// run runs f and keeps its result, and counts the size of the result's JSON. It forgets a call that failed before it
// did anything: a retry may succeed.
func (r *replays) run(ctx context.Context, p *replay, f func(context.Context) (any, error)) {
	defer inorder.Pass(ctx)
	defer close(p.done)
	p.v, p.err = guarded(context.WithoutCancel(ctx), f)
	again, repeats := errors.AsType[repeatable](p.err)
	if repeats {
		p.err = again.error
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if repeats || p.err != nil && undone(p.err) || saysUndone(p.v) {
		r.forget(p)
		return
	}
	if text, err := json.Marshal(p.v); err == nil && p.err == nil {
		p.size = len(text)
	}
	r.bytes += p.size
	r.order = append(r.order, p)
	for r.bytes > replayBytes && len(r.order) > 1 {
		r.forget(r.order[0])
	}
	time.AfterFunc(replayMemory, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.forget(p)
	})
}

// A repeatable is the error of an action that has the same effect if it is done once more.
type repeatable struct{ error }

// guarded runs f, and makes an error of its panic.
func guarded(ctx context.Context, f func(context.Context) (any, error)) (v any, err error) {
	defer func() {
		if p := recover(); p != nil {
			v, err = nil, &term.Error{Kind: term.Internal, Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	return f(ctx)
}

// saysUndone reports whether a result says that the action itself was not done, for example because a login asks first.
func saysUndone(v any) bool {
	u, ok := v.(interface{ Undone() bool })
	return ok && u.Undone()
}

// undone reports whether an error means that the call did nothing, so that a retry must run again. After a lost
// connection, a timeout or a fault, part of the action may have happened: such errors are kept.
func undone(err error) bool {
	if term.FactOf[term.PartialWrite](err).Written > 0 { // as when the lock is lost on the way
		return false
	}
	switch term.KindOf(err) {
	case term.RemoteClosed, term.IOError, term.ExecTimeout, term.Canceled, term.Internal:
		return false
	}
	return true
}

// forget drops a call. Requires r.mu.
func (r *replays) forget(p *replay) {
	if r.calls[p.scope][p.id] == p {
		delete(r.calls[p.scope], p.id)
		if len(r.calls[p.scope]) == 0 {
			delete(r.calls, p.scope)
		}
	}
	if i := slices.Index(r.order, p); i >= 0 {
		r.order = slices.Delete(r.order, i, i+1)
		r.bytes -= p.size
	}
}

// forgetOld makes room for one more. It keeps calls under way: a retry must not run them twice. Requires r.mu.
func (r *replays) forgetOld(calls map[string]*replay) {
	var oldest *replay
	for _, p := range calls {
		if p.ended() && (oldest == nil || p.begun.Before(oldest.begun)) {
			oldest = p
		}
	}
	if len(calls) >= maxReplays && oldest != nil {
		r.forget(oldest)
	}
}

// ended reports whether the call has its result.
func (p *replay) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}
