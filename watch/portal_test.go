package watch

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/mcpapi/identity"
	"ptyctl/term"
)

// portalOf is a portal, and sends requests to it as a browser does.
type portalOf struct {
	*Portal
	t      *testing.T
	events []term.Event
}

// send sends a request of a person, as httpserve passes it on.
func (p *portalOf) send(ctx context.Context, method, path, person, token string) *httptest.ResponseRecorder {
	p.t.Helper()
	r := httptest.NewRequestWithContext(ctx, method, "/watch/"+path, strings.NewReader("{}"))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	r.RemoteAddr = "192.0.2.7:1138"
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r.WithContext(identity.WithCaller(ctx, identity.Caller{
		Transport: identity.PageTransport, Token: person, Operator: true,
	})))
	return w
}

// login begins a visit, and returns its token.
func (p *portalOf) login(person string) string {
	p.t.Helper()
	w := p.send(p.t.Context(), http.MethodPost, "api/login", person, "of-the-person")
	var in loggedIn
	if err := json.Unmarshal(w.Body.Bytes(), &in); err != nil || in.Token == "" || in.Hint == "" {
		p.t.Fatalf("login of %s = %d %s, want a token and a hint", person, w.Code, w.Body)
	}
	return in.Token
}

// valid reports whether a visit goes on.
func (p *portalOf) valid(token string) bool {
	p.t.Helper()
	known := p.Visitor(token) != ""
	if code := p.send(p.t.Context(), http.MethodGet, "api/recordings", "", token).Code; known != (code == http.StatusOK) {
		p.t.Errorf("a visit that is known (%t) gets %d", known, code)
	}
	return known
}

func newPortalOf(t *testing.T) *portalOf {
	t.Helper()
	p := &portalOf{t: t}
	p.Portal = NewPortal(PortalOptions{Observe: func(e term.Event) { p.events = append(p.events, e) }})
	t.Cleanup(p.Close)
	return p
}

// A visit ends some time after its last request, and not while one is open. The oldest of too many ends for another one
// of the same person.
func TestVisits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPortalOf(t)
		first := p.login("ann")
		if e := p.events[0]; e.Verb != term.VerbWatch || e.Actor.Token != "ann" || e.Actor.Transport != "page" ||
			e.Detail != "from 192.0.2.7" || !strings.Contains(e.Actor.Client, "192.0.2.7") {
			t.Errorf("the event of a login is %+v, want the token's name and the address", e)
		}
		time.Sleep(idleVisit - time.Second)
		if !p.valid(first) {
			t.Errorf("a visit that was not used for %v has ended, want that it goes on", idleVisit-time.Second)
		}
		time.Sleep(idleVisit - time.Second)
		if !p.valid(first) {
			t.Error("a visit that was used meanwhile has ended, want that it goes on")
		}
		time.Sleep(idleVisit + time.Second)
		synctest.Wait()
		if p.valid(first) {
			t.Errorf("a visit that was not used for %v goes on, want its end", idleVisit+time.Second)
		}

		other := p.login("bob")
		all := make([]string, mostVisits+1)
		for i := range all {
			all[i] = p.login("ann")
			time.Sleep(time.Second)
		}
		for i, token := range all {
			if p.valid(token) != (i > 0) {
				t.Errorf("visit %d of %d goes on: %t, want only the first one ended", i, len(all), i == 0)
			}
		}
		p.Withdraw("ann")
		if p.valid(all[mostVisits]) || !p.valid(other) {
			t.Error("the token of ann was withdrawn, want the end of her visits and of no others")
		}
	})
}

// An open request ends with its visit, and keeps the visit until then. A login begins no visit if its token is
// withdrawn meanwhile.
func TestVisitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPortalOf(t)
		token := p.login("ann")
		done := make(chan int)
		// Nothing serves the portal's listener, so the stream waits for a connection.
		go func() { done <- p.send(t.Context(), http.MethodGet, "api/stream", "", token).Code }()
		synctest.Wait()
		p.mu.Lock()
		for _, v := range p.visits {
			if v.open != 1 || v.idle.Stop() {
				t.Errorf("during a request %d are open, or the visit's time runs; want one, and that it does not", v.open)
			}
		}
		p.mu.Unlock()
		p.Withdraw("ann")
		if code := <-done; code != http.StatusBadGateway {
			t.Errorf("the stream of a visit that has ended = %d, want its end", code)
		}
		withdrawn, cancel := context.WithCancel(t.Context())
		cancel()
		p.send(withdrawn, http.MethodPost, "api/login", "ann", "of-the-person")
		if len(p.visits) != 0 {
			t.Errorf("%d visits began with a token that was withdrawn, want none", len(p.visits))
		}
		p.Close()
		if w := p.send(t.Context(), http.MethodPost, "api/login", "ann", "x"); w.Code != http.StatusServiceUnavailable {
			t.Errorf("login after Close = %d, want 503", w.Code)
		}
	})
}
