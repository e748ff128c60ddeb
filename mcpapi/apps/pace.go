package apps

import (
	"context"
	"sync"
	"time"

	"ptyctl/term"
)

// gap is the least time between two calls of one caller about one session. Hosts count the calls of a page, and refuse
// them where there are more than about one a second.
const gap = time.Second

// MaxWait is the longest that a call waits for a frame, and for its turn before that.
const MaxWait = 20 * time.Second

// A viewer is a caller and the session that it views.
type viewer struct {
	by      term.Principal
	session string
}

// A pace gives each viewer one turn a second. A page that is opened twice shares them.
type pace struct {
	mu   sync.Mutex // guards the following
	next map[viewer]time.Time
}

// mostViewers is how many viewers are remembered before those with a past turn are forgotten.
const mostViewers = 1024

// reserve takes the viewer's next turn, and returns how long it is until then. It reports false, and takes no turn, if
// that is more than MaxWait.
func (p *pace) reserve(v viewer) (wait time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if len(p.next) >= mostViewers {
		for other, at := range p.next {
			if !at.After(now) {
				delete(p.next, other)
			}
		}
	}
	at := p.next[v]
	if at.Before(now) {
		at = now
	}
	if wait = at.Sub(now); wait > MaxWait {
		return 0, false
	}
	p.next[v] = at.Add(gap)
	return wait, true
}

// turn waits for the viewer's turn.
func (p *pace) turn(ctx context.Context, v viewer) error {
	wait, ok := p.reserve(v)
	if !ok {
		return &term.Error{
			Session: v.session, Kind: term.Busy,
			Msg: "too many calls wait to view this session; one a second is answered: wait for the answer before the next call",
		}
	}
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return canceled(ctx, v.session)
	}
}

func canceled(ctx context.Context, session string) error {
	return &term.Error{
		Session: session, Kind: term.Canceled, Msg: term.CanceledMsg(ctx, "the call was canceled; call again"), Err: ctx.Err(),
	}
}
