package hosts

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ptyctl/session"
	"ptyctl/term"
)

// Options are those of Hosts. Manager and Plan are required.
type Options struct {
	Manager *session.Manager
	Plan    term.Planner  // of the protocol of all targets
	Idle    time.Duration // a session that was opened for commands closes when not used for so long; 0: 10 min
}

// Hosts finds and opens the sessions of commands that name a host. Make it with New.
type Hosts struct {
	o Options

	mu      sync.Mutex // guards the following; locked before the Manager's
	opening map[place]*opening
}

// A place is where a caller's commands go.
type place struct {
	by  term.Principal
	way string // the hosts on the way there
}

// New makes a Hosts that has opened nothing.
func New(o Options) *Hosts {
	o.Idle = cmp.Or(o.Idle, 10*time.Minute)
	return &Hosts{o: o, opening: make(map[place]*opening)}
}

// A Request says where a command is to run.
type Request struct {
	Target term.Target
	Wait   time.Duration // the longest this call waits for a new session to open; 0: as long as that takes
}

// A Result is the session of a command.
type Result struct {
	// Session is open, and has got the command, unless State says otherwise.
	session.OpenResult

	Joined bool // another call opens it, or has opened it
}

// Use calls f with an open session of the caller at the target. f starts a command there, beside the terminal, and
// returns the error of Session.Exec, which Use returns too. After an error that says that nothing was started, because
// the session has just ended or been locked or has no channel left, Use calls f again with another session.
//
// If the login of a new session asks a question, or the time for it is over, f is not called: the result is that of
// Manager.Open. Later calls wait for the same login.
func (h *Hosts) Use(ctx context.Context, r Request, f func(*session.Session) error) (Result, error) {
	p, err := h.plan(ctx, r.Target)
	if err != nil {
		return Result{}, err
	}
	at := place{term.ActorFrom(ctx).Principal(), way(p)}
	tried := make(map[*session.Session]bool)
	for {
		s, o, first := h.choose(ctx, at, p, tried)
		res := Result{OpenResult: session.OpenResult{Session: s, State: session.Open}, Joined: true}
		if o != nil {
			res, err = h.wait(ctx, at, o, first, r)
			if err != nil || res.State != session.Open && !res.State.Ended() { // f's error says how it has ended
				return res, err
			}
		}
		if err = f(res.Session); o != nil || !notStarted(err) {
			return res, err
		}
		tried[res.Session] = true
	}
}

// plan returns the plan for t. A target that cannot be planned has a plan of its own words alone: no session leads
// there, and the Dialer says why as it does for every session.
func (h *Hosts) plan(ctx context.Context, t term.Target) (term.Plan, error) {
	if h.o.Plan == nil {
		return term.Plan{}, &term.Error{
			Op: "open", Kind: term.Unsupported,
			Msg: "no host can be named here in place of a session", Advice: "open a session there first",
		}
	}
	p, err := h.o.Plan(ctx, t)
	if err != nil {
		p = term.Plan{Hops: []term.PlannedHop{{Alias: t.Host, Host: t.Host, Port: t.Port, User: t.User}}}
	}
	return p, nil
}

// way writes down the hosts of a plan, and how it reaches and trusts them, so that calls with plans of the same way may
// share a session that is being opened. It distinguishes all that ServerView.Usable does.
func way(p term.Plan) string {
	var b strings.Builder
	hop := func(h term.PlannedHop) {
		if p.ProxyCommand {
			b.WriteString(strconv.Quote(h.Alias))
		}
		b.WriteString(strconv.Quote(h.User) + "@" + net.JoinHostPort(strings.ToLower(h.Host), strconv.Itoa(h.Port)) + " " +
			h.HostKeyPolicy + " ")
	}
	if p.ForwardAgent {
		b.WriteString("agent ")
	}
	if p.Proxy != nil {
		b.WriteString("proxy ")
		hop(*p.Proxy)
	}
	for _, h := range p.Hops {
		hop(h)
	}
	return b.String()
}

// notStarted reports whether an error of Session.Exec says that this session has started nothing, and another may.
func notStarted(err error) bool {
	e, ok := errors.AsType[*term.Error](err)
	if !ok {
		return false
	}
	switch e.Kind {
	case term.AlreadyClosed:
		return term.FactOf[term.Ended](e).Before
	case term.Locked, term.LockRequired:
		return true
	case term.LimitExceeded: // of the server, not of this program
		return term.FactOf[term.LimitReached](e) == term.LimitReached{}
	}
	return false
}

// choose returns a session that is open at the place, or else the opening of one. If first, the opening is new, and
// the caller must begin it. In both cases it must be waited for.
func (h *Hosts) choose(
	ctx context.Context, at place, p term.Plan, tried map[*session.Session]bool,
) (s *session.Session, o *opening, first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	// Both under one mutex: an opening is removed only after its session is open, so it is seen here or there.
	usable := h.o.Manager.ServerView().Usable(ctx, p)
	if i := slices.IndexFunc(usable, func(s *session.Session) bool { return !tried[s] }); i >= 0 {
		return usable[i], nil, false
	}
	maps.DeleteFunc(h.opening, func(_ place, o *opening) bool { return o.settled() })
	o = h.opening[at]
	if first = o == nil; first {
		o = &opening{made: make(chan struct{})}
		h.opening[at] = o
	}
	o.waiting++
	return nil, o, first
}
