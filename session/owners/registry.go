package owners

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"

	"ptyctl/term"
)

// DefaultTTL is how long a session stays without a client, unless the operator says otherwise.
const DefaultTTL = time.Hour

// Why a session does not change hands.
var (
	ErrNoClient  = errors.New("the caller is no client that comes and goes")          // its principal has not joined
	ErrElsewhere = errors.New("the session was not left where the caller works")      // or no session has that id
	ErrPresent   = errors.New("the client that has the session is present")           // and works where the caller does
	ErrNoMember  = errors.New("no client that is present has that name")              // see Registry.Members
	ErrOver      = errors.New("the time that a session without a client has is over") // it ends
)

// A Session is a session as the Registry knows it. It calls both methods without a mutex.
type Session interface {
	// OwnerChanged says that the owner is another, or that its client has come or gone: Ownership.Owner has the present
	// state. Locks of tasks of the principal from belong to the same tasks of to; both are zero if it is the same.
	OwnerChanged(from, to term.Principal)
	// Expire ends the session, which no client has had for so long, and returns when it has ended.
	Expire(after time.Duration)
}

// A Registry knows the clients that are present, and the owner of each session. Make it with New.
type Registry struct {
	running sync.WaitGroup // timers that end a session

	mu      sync.Mutex // guards the following; no other mutex is locked while it is
	ttl     time.Duration
	members map[term.Principal]*Member
	held    map[*Ownership]bool // of the sessions that live, and those that have ended and are kept
	serves  bool                // there are clients that come and go
	closed  bool
}

// New makes a Registry that ends orphans after ttl; 0: DefaultTTL.
func New(ttl time.Duration) *Registry {
	return &Registry{
		ttl: cmp.Or(ttl, DefaultTTL), members: make(map[term.Principal]*Member), held: make(map[*Ownership]bool),
	}
}

// SetTTL sets how long a session stays without a client, for those that lose theirs from now on.
func (r *Registry) SetTTL(ttl time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ttl = cmp.Or(ttl, DefaultTTL)
}

// Serve says that clients come and go from now on. Join implies it; a person may hand over a session before.
func (r *Registry) Serve() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.serves = true
}

// Serves reports whether clients come and go.
func (r *Registry) Serves() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.serves
}

// Join says that a client is present. p.Shim is its name, which no other may have or have had: it must be random. The
// sessions that it opens are orphans once it has left. at.Client may be empty until Named.
func (r *Registry) Join(p term.Principal, at Place) error {
	p = p.Client()
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.Shim == "" || r.members[p] != nil || r.closed {
		return ErrNoClient
	}
	r.serves = true
	r.members[p] = &Member{Principal: p, Place: at, Since: time.Now()}
	return nil
}

// Named sets the program of the client, as the client names it at the beginning of its conversation. It has no effect
// on a principal that has not joined.
func (r *Registry) Named(p term.Principal, client string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.members[p.Client()]; m != nil {
		m.Place.Client = client
	}
}

// Gone says that a client is gone, and that only calls that it has made before may still go on. Its sessions, and those
// that such a call opens, are orphans from now on. It does not wait.
func (r *Registry) Gone(p term.Principal) { r.gone(p.Client(), false) }

// Leave says that a client is gone, and all its calls have ended. It is Gone if that was not called, and may be called
// for a principal that has not joined.
func (r *Registry) Leave(p term.Principal) { r.gone(p.Client(), true) }

// gone is Gone, and with forget Leave.
func (r *Registry) gone(p term.Principal, forget bool) {
	r.mu.Lock()
	m := r.members[p]
	var left []Session
	if m != nil && !m.gone {
		m.gone = true
		for o := range r.held {
			if o.owner.Principal == p && o.owner.Orphaned.IsZero() {
				o.orphanLocked(m.Place)
				left = append(left, o.s)
			}
		}
	}
	if forget {
		delete(r.members, p)
	}
	r.mu.Unlock()
	for _, s := range left {
		s.OwnerChanged(term.Principal{}, term.Principal{})
	}
}

// presentLocked returns the client that p is, if it is not gone. Requires r.mu.
func (r *Registry) presentLocked(p term.Principal) *Member {
	if m := r.members[p]; m != nil && !m.gone {
		return m
	}
	return nil
}

// Members returns the clients that are present, the first to come first.
func (r *Registry) Members() []Member {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Member, 0, len(r.members))
	for _, m := range r.members {
		if !m.gone {
			all = append(all, *m)
		}
	}
	slices.SortFunc(all, func(a, b Member) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Principal.Shim, b.Principal.Shim))
	})
	return all
}

// Member returns the client that p is, if it is present.
func (r *Registry) Member(p term.Principal) (Member, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.presentLocked(p.Client()); m != nil {
		return *m, true
	}
	return Member{}, false
}

// Resumable reports whether the client p may adopt a session of the owner o: it must be an orphan with time left, in
// the place where p works.
func (r *Registry) Resumable(p term.Principal, o Owner) bool {
	if o.Orphaned.IsZero() || o.over {
		return false
	}
	m, ok := r.Member(p)
	return ok && o.Place.Fits(m.Place)
}

// Close ends the timers, and returns when no session is being ended by one. No client can join from then on.
func (r *Registry) Close() {
	r.mu.Lock()
	r.closed = true
	for o := range r.held {
		o.stopLocked()
	}
	r.mu.Unlock()
	r.running.Wait()
}
