package mcpapi

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"ptyctl/term"
)

// How many request ids are remembered per session, and for how long.
const (
	maxReplays   = 1000
	replayMemory = 10 * time.Minute
)

// replays make retries safe: the first call with a request_id does something, every later one gets the first
// one's result. Of the arguments only a keyed hash is kept.
type replays struct {
	key [32]byte

	mu    sync.Mutex                    // guards the following
	calls map[string]map[string]*replay // by scope (a session id, or "" for open), by request id
}

// A replay is one call that was made, or is under way.
type replay struct {
	arguments [sha256.Size]byte
	begun     time.Time
	done      chan struct{} // closed when v and err are set
	v         any
	err       error
}

func newReplays() *replays {
	r := &replays{calls: make(map[string]map[string]*replay)}
	_, _ = rand.Read(r.key[:]) // never fails
	return r
}

// do runs f once for an id, and returns its result to everyone who asks with that id and the same arguments.
// f goes on when the caller who started it gives up, so that a retry finds what became of it.
func (r *replays) do(ctx context.Context, scope, id string, arguments []byte, f func(context.Context) (any, error)) (any, error) {
	mac := hmac.New(sha256.New, r.key[:])
	mac.Write(arguments)
	var sum [sha256.Size]byte
	mac.Sum(sum[:0])

	r.mu.Lock()
	calls := r.calls[scope]
	if calls == nil {
		r.forgetScopes()
		calls = make(map[string]*replay)
		r.calls[scope] = calls
	}
	p := calls[id]
	if p == nil {
		p = &replay{arguments: sum, begun: time.Now(), done: make(chan struct{})}
		r.forgetOld(calls)
		calls[id] = p
		r.mu.Unlock()
		go r.run(ctx, scope, id, p, f) // ends with f, whose own deadlines bound it
	} else {
		r.mu.Unlock()
	}
	if p.arguments != sum {
		return nil, &term.Error{Kind: term.InvalidArgument, Msg: "request_id " + id + " was used before with other arguments; use a new one for a new action", Details: &term.Details{Field: "request_id"}}
	}
	select {
	case <-p.done:
		return p.v, p.err
	case <-ctx.Done():
		return nil, &term.Error{Kind: term.Canceled, Msg: "the call was canceled, but what it started goes on; ask with the same request_id for its result", Err: ctx.Err()}
	}
}

// run carries f out. A call that failed before it did anything is forgotten: its retry may succeed.
func (r *replays) run(ctx context.Context, scope, id string, p *replay, f func(context.Context) (any, error)) {
	defer close(p.done)
	defer func() {
		if v := recover(); v != nil {
			p.v, p.err = nil, &term.Error{Kind: term.Internal, Err: fmt.Errorf("panic: %v\n%s", v, debug.Stack())}
		}
	}()
	p.v, p.err = f(context.WithoutCancel(ctx))
	if p.err != nil && undone(term.KindOf(p.err)) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.calls[scope][id] == p {
			delete(r.calls[scope], id)
		}
	}
}

// undone reports whether an error of that kind means that nothing was done.
func undone(k term.Kind) bool {
	switch k {
	case term.RemoteClosed, term.IOError, term.ExecTimeout, term.Canceled, term.Internal:
		return false
	}
	return true
}

// forgetScopes drops sessions of which nothing is remembered any more. Requires r.mu.
func (r *replays) forgetScopes() {
	for scope, calls := range r.calls {
		live := false
		for _, p := range calls {
			live = live || time.Since(p.begun) <= replayMemory
		}
		if !live {
			delete(r.calls, scope)
		}
	}
}

// forgetOld makes room for one more. What is still under way is kept: its retry must not run twice. Requires r.mu.
func (r *replays) forgetOld(calls map[string]*replay) {
	oldest := ""
	for id, p := range calls {
		switch {
		case !p.ended():
		case time.Since(p.begun) > replayMemory:
			delete(calls, id)
		case oldest == "" || p.begun.Before(calls[oldest].begun):
			oldest = id
		}
	}
	if len(calls) >= maxReplays && oldest != "" {
		delete(calls, oldest)
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
