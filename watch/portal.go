package watch

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"ptyctl/control"
	"ptyctl/internal/client"
	"ptyctl/mcpapi/httpserve"
	"ptyctl/mcpapi/identity"
	"ptyctl/term"
)

// PortalOptions configure a Portal.
type PortalOptions struct {
	Version    string           // of the program
	Recordings string           // folder of recordings to replay; empty: none
	Observe    func(term.Event) // gets an event for each visit that begins or is refused, for the audit log; nil: none
	// Refuse says why no visit may begin over the connection of a request, whatever its token; nil: each may.
	Refuse func(r *http.Request) error
	Logger *slog.Logger // nil: no log
}

// A Portal is the page of the process that it is in, for people who reach it over the network: a httpserve.Page, behind
// which tokens, names and origins are checked. A person's token begins a visit; the visit has a token of its own, which
// the page keeps in its memory alone.
//
//	p := watch.NewPortal(watch.PortalOptions{...})
//	inner := httpserve.New(mcp, httpserve.Options{Operator: true, Identify: watch.Identify, ...})
//	go inner.Serve(ctx, p.Listener())
//	outer := httpserve.New(mcp, httpserve.Options{Page: p, ...})
//	...
//	p.Close() // after outer has ended, and before inner does
//
// A visit is a Server of its own. It reaches the process over a listener in memory, so that a person here has the same
// rights as one at a control socket, and no more.
type Portal struct {
	o      PortalOptions
	files  http.Handler
	inside *inside

	mu     sync.Mutex // guards the following
	visits map[secret]*visit
	closed bool
	ending sync.WaitGroup // visits that give back terminals
}

// How long a visit lasts, and how many there may be.
const (
	idleVisit  = 10 * time.Minute // without a request; an open page always has one
	mostVisits = 32               // of one person; another one ends the oldest
)

// A visit is a person's page in one browser.
type visit struct {
	person string
	server *Server
	began  time.Time
	life   context.Context // canceled at its end, and with it its requests
	end    context.CancelFunc

	open int         // requests; guarded by Portal.mu, as the timer's settings
	idle *time.Timer // ends the visit; stopped while a request is open
}

// NewPortal makes a portal.
func NewPortal(o PortalOptions) *Portal {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	mux := http.NewServeMux()
	addFiles(mux, "token")
	return &Portal{o: o, files: mux, inside: newInside(), visits: make(map[secret]*visit)}
}

// Listener is where the process must serve the portal's requests. The context of each has a caller that Identify
// completes.
func (p *Portal) Listener() net.Listener { return p.inside }

// Access implements httpserve.Page.
func (p *Portal) Access(r *http.Request) httpserve.Access {
	switch path := below(r.URL.Path); {
	case !strings.HasPrefix(path, apiPath):
		return httpserve.AccessPublic
	case path != loginPath:
		return httpserve.AccessVisit
	case r.Method == http.MethodPost:
		return httpserve.AccessPerson
	}
	return httpserve.AccessPublic
}

// below returns the path of a request in the page.
func below(path string) string { return "/" + strings.TrimPrefix(path, httpserve.PagePath) }

// Visitor implements httpserve.Page.
func (p *Portal) Visitor(token string) string {
	hash := secret(sha256.Sum256([]byte(token)))
	p.mu.Lock()
	defer p.mu.Unlock()
	if v := p.visits[hash]; v != nil {
		return v.person
	}
	return ""
}

// Withdraw implements httpserve.Page.
func (p *Portal) Withdraw(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for hash, v := range p.visits {
		if v.person == name {
			p.endLocked(hash, "its token was withdrawn or has expired")
		}
	}
}

// Close ends all visits, and gives back the terminals that they have taken. The process must still serve Listener.
func (p *Portal) Close() {
	p.mu.Lock()
	for hash := range p.visits {
		p.endLocked(hash, "the server stops")
	}
	p.closed = true
	p.mu.Unlock()
	p.ending.Wait()
	_ = p.inside.Close()
}

// ServeHTTP implements http.Handler, for requests that httpserve has admitted.
func (p *Portal) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range headers {
		w.Header().Set(name, value)
	}
	if r.URL.Path+"/" == httpserve.PagePath {
		http.Redirect(w, r, httpserve.PagePath, http.StatusPermanentRedirect)
		return
	}
	access := p.Access(r)
	r = r.Clone(r.Context())
	r.URL.Path, r.URL.RawPath = below(r.URL.Path), ""
	switch access {
	case httpserve.AccessPublic:
		p.files.ServeHTTP(w, r)
	case httpserve.AccessPerson:
		p.login(w, r)
	case httpserve.AccessVisit:
		p.during(w, r)
	}
}

// login begins a visit.
func (p *Portal) login(w http.ResponseWriter, r *http.Request) {
	if _, ok := read[struct{}](w, r); !ok {
		return
	}
	who := identity.FromContext(r.Context())
	from, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		from = r.RemoteAddr
	}
	command := "watch page from " + from // the audit log has it of each action
	event := term.Event{
		Time: time.Now(), Verb: term.VerbWatch, Detail: "from " + from,
		Actor: term.Actor{
			Transport: who.Transport, Token: who.Token, Client: "ptyctl " + command, Version: p.o.Version, Operator: true,
		},
	}
	if p.o.Refuse != nil {
		if event.Refused = p.o.Refuse(r); event.Refused != nil {
			p.observe(event)
			fail(w, http.StatusForbidden, string(term.KindOf(event.Refused)), event.Refused.Error())
			return
		}
	}
	ctx, end := context.WithCancel(context.Background())
	v := &visit{person: who.Token, began: event.Time, life: ctx, end: end}
	v.server = New(Options{
		Processes: client.Options{Path: "this ptyctl", Options: control.Options{
			Command: command, Version: p.o.Version,
			Dialer: func(ctx context.Context) (net.Conn, error) { return p.inside.dial(ctx, who) },
		}},
		Recordings: p.o.Recordings, Logger: p.o.Logger,
		Person: who.Token + " (watch page, from " + from + ")",
	})
	token, hash := newSecret()
	v.idle = time.AfterFunc(idleVisit, func() { p.idled(hash) })
	if !p.begin(hash, v) {
		end()
		v.idle.Stop()
		fail(w, http.StatusServiceUnavailable, "BUSY", "ptyctl is shutting down")
		return
	}
	if r.Context().Err() != nil { // the token was withdrawn meanwhile, or the browser is gone
		p.mu.Lock()
		p.endLocked(hash, "it did not begin")
		p.mu.Unlock()
		return
	}
	p.o.Logger.Info("a person watches", "token", who.Token, "from", from, "may_step_in", !who.ReadOnly)
	p.observe(event)
	answer(w, loggedIn{
		Token: token, Recordings: p.o.Recordings != "",
		Hint: "You may only watch here: your token has the role watch, or this ptyctl is read-only. To step in, ask its operator " +
			"for a token with the role operate.",
	})
}

func (p *Portal) observe(e term.Event) {
	if p.o.Observe != nil {
		p.o.Observe(e)
	}
}

// begin adds a visit. The oldest of the same person ends for one too many.
func (p *Portal) begin(hash secret, v *visit) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	n, oldest := 0, secret{}
	for h, other := range p.visits {
		if other.person != v.person {
			continue
		}
		if n++; n == 1 || other.began.Before(p.visits[oldest].began) {
			oldest = h
		}
	}
	if n >= mostVisits {
		p.endLocked(oldest, "the same person has begun too many")
	}
	p.visits[hash] = v
	return true
}

// during serves a request of a visit.
func (p *Portal) during(w http.ResponseWriter, r *http.Request) {
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	hash := secret(sha256.Sum256([]byte(strings.TrimSpace(token))))
	p.mu.Lock()
	v := p.visits[hash]
	if v != nil {
		v.open++
		v.idle.Stop()
	}
	p.mu.Unlock()
	if v == nil {
		fail(w, http.StatusUnauthorized, "AUTH_FAILED", "this visit has ended; log in again")
		return
	}
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if v.open--; v.open == 0 {
			v.idle.Reset(idleVisit)
		}
	}()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(v.life, cancel)()
	v.server.mux.ServeHTTP(w, r.WithContext(ctx))
}

// idled ends a visit without an open page.
func (p *Portal) idled(hash secret) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v := p.visits[hash]; v != nil && v.open == 0 {
		p.endLocked(hash, "its page is gone")
	}
}

// endLocked ends a visit. Requires p.mu.
func (p *Portal) endLocked(hash secret, why string) {
	v := p.visits[hash]
	if v == nil {
		return
	}
	delete(p.visits, hash)
	v.idle.Stop()
	v.end()
	p.o.Logger.Info("a person watches no more", "token", v.person, "why", why)
	p.ending.Go(func() {
		ctx, stop := context.WithTimeout(context.Background(), endTime)
		defer stop()
		v.server.giveAllBack(ctx)
	})
}
