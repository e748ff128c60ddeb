package sizing

import (
	"context"
	"fmt"
	"sync"
	"time"

	"ptyctl/session/access"
	"ptyctl/term"
)

// leaveLimit is how long a person who leaves waits for the far side to take the size.
const leaveLimit = 900 * time.Millisecond

// A Size is a size in character cells.
type Size struct{ Cols, Rows int }

// String returns the size as the record has it.
func (g Size) String() string { return fmt.Sprintf("%dx%d", g.Cols, g.Rows) }

// A Terminal is a session as this package sees it.
type Terminal interface {
	Context() context.Context    // ends with the session
	Size() Size                  // of its window
	Resize(to Size) error        // tells the far side, too
	Lease() (access.Lease, bool) // the session's lock
	Opener() term.Actor          // of the session
	Record(e term.Event) error   // puts e on record before it happens
	Observe(e term.Event)        // tells of it
	Spawn(f func()) bool         // runs f in a goroutine of the session; false: the session is over
}

// A Sizing changes the size of one terminal. Make it with New. Any number of goroutines may call its methods.
type Sizing struct {
	t    Terminal
	turn chan struct{} // holds a token while the size changes: far side and observers get the sizes in one order

	mu      sync.Mutex // guards the following
	own     Size       // before the first person; zero: it has its own
	by      term.Actor // the person who has changed it last
	waiting bool       // a goroutine waits for the end of the people's locks
}

// New makes the Sizing of a terminal.
func New(t Terminal) *Sizing { return &Sizing{t: t, turn: make(chan struct{}, 1)} }

// Begin waits until no other size is being set. It returns a nil end if ctx or the session is over first.
func (z *Sizing) Begin(ctx context.Context) (end func()) {
	select {
	case z.turn <- struct{}{}:
		return func() { <-z.turn }
	case <-ctx.Done():
	case <-z.t.Context().Done():
	}
	return nil
}

// Set gives the terminal a size for a caller. Begin comes before it.
func (z *Sizing) Set(by term.Actor, to Size) error {
	before := z.t.Size()
	if err := z.t.Resize(to); err != nil {
		return err
	}
	h, opener := access.HolderOf(by), z.t.Opener()
	z.mu.Lock()
	defer z.mu.Unlock()
	if !h.Attached() || h.Principal.Attachment == opener.Principal().Attachment { // or a person's own session
		z.own = Size{}
		return nil
	}
	if z.own == (Size{}) {
		z.own = before
	}
	z.by = by
	if !z.waiting {
		z.waiting = z.t.Spawn(z.await)
	}
	return nil
}

// lent returns the size to give back, zero if there is none, and the person who has changed it.
func (z *Sizing) lent() (own Size, by term.Actor) {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.own, z.by
}

// Own returns the size without that of people who are attached.
func (z *Sizing) Own() Size {
	if own, _ := z.lent(); own != (Size{}) {
		return own
	}
	return z.t.Size()
}

// await gives the size back when no person has the lock any more. Nothing tells of a lock that expires, so it waits
// for that time; a lock that was renewed has another one by then.
func (z *Sizing) await() {
	for {
		if !z.left() {
			return // with the session, whose size nobody gives back
		}
		failed := z.giveBack(0)
		z.mu.Lock()
		if failed || z.own == (Size{}) { // else another person came meanwhile
			z.waiting = false
			z.mu.Unlock()
			return
		}
		z.mu.Unlock()
	}
}

// left waits until no person has the lock, or there is no size to give back. It reports false if the session is over
// first.
func (z *Sizing) left() bool {
	for {
		lease, held := z.t.Lease()
		if own, _ := z.lent(); own == (Size{}) || !held || !lease.Holder.Attached() {
			return true
		}
		expired := time.NewTimer(time.Until(lease.Expires))
		select {
		case <-expired.C:
		case <-z.t.Context().Done():
			expired.Stop()
			return false
		}
	}
}

// giveBack gives the terminal its own size, unless a person has the lock by another grant than the one with the epoch
// leaving: then it is given back when that person leaves. It reports whether that could not be done.
func (z *Sizing) giveBack(leaving uint64) (failed bool) {
	end := z.Begin(context.Background())
	if end == nil {
		return true
	}
	defer end()
	own, by := z.lent()
	if lease, held := z.t.Lease(); own == (Size{}) || held && lease.Holder.Attached() && lease.Epoch != leaving {
		return false
	}
	if own != z.t.Size() {
		// No caller asks for it, so it is recorded and not judged.
		e := term.Event{Verb: term.VerbResize, Actor: by, Detail: own.String()}
		if z.t.Record(e) != nil {
			return true
		}
		e.Err = z.t.Resize(own)
		z.t.Observe(e)
		if e.Err != nil {
			return true
		}
	}
	z.mu.Lock()
	z.own = Size{}
	z.mu.Unlock()
	return false
}

// Leave gives the size back for a person who is about to give the lock back. It waits until that is done, but not long:
// a far side may take nothing.
func (z *Sizing) Leave(ctx context.Context, by access.Holder) {
	own, _ := z.lent()
	lease, held := z.t.Lease()
	if own == (Size{}) || !held || lease.Holder != by || !by.Attached() {
		return
	}
	done := make(chan struct{})
	if !z.t.Spawn(func() {
		defer close(done)
		z.giveBack(lease.Epoch)
	}) {
		return
	}
	timer := time.NewTimer(leaveLimit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-ctx.Done():
	case <-z.t.Context().Done():
	}
}
