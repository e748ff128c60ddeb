package owners_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/session/owners"
	"ptyctl/term"
)

// A held is a session that writes down the calls of the registry.
type held struct {
	mu      sync.Mutex
	moved   []string
	expired int
}

func (h *held) OwnerChanged(from, to term.Principal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.moved = append(h.moved, from.Shim+">"+to.Shim)
}

func (h *held) Expire(time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.expired++
}

func (h *held) ends() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.expired
}

func (h *held) moves() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.moved)
}

func shim(name string) term.Principal { return term.Principal{Transport: "stdio", Shim: name} }

var web = owners.Place{Client: "agent", Dir: "/srv/web", User: "1000"}

// join lets a client come, or fails the test.
func join(t *testing.T, r *owners.Registry, name string, at owners.Place) {
	t.Helper()
	if err := r.Join(shim(name), at); err != nil {
		t.Fatalf("Join(%q) = %v, want no error", name, err)
	}
}

// The clients that may adopt a session of the client "one", and when.
func TestAdopt(t *testing.T) {
	other := func(change func(p *owners.Place)) owners.Place {
		p := web
		change(&p)
		return p
	}
	for name, tt := range map[string]struct {
		at   owners.Place // of the client "two"
		stay bool         // "one" does not leave
		want error
	}{
		"the same client":            {at: web},
		"while the owner is present": {at: web, stay: true, want: owners.ErrPresent},
		"another program":            {at: other(func(p *owners.Place) { p.Client = "other" }), want: owners.ErrElsewhere},
		"another folder":             {at: other(func(p *owners.Place) { p.Dir = "/srv" }), want: owners.ErrElsewhere},
		"another user":               {at: other(func(p *owners.Place) { p.User = "0" }), want: owners.ErrElsewhere},
		"of whom nothing is known":   {at: owners.Place{}, want: owners.ErrElsewhere},
		"another, owner present":     {at: owners.Place{}, stay: true, want: owners.ErrElsewhere},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, h := owners.New(0), &held{}
				defer r.Close()
				join(t, r, "one", web)
				o := r.Opened(shim("one"))
				o.Keep(h)
				if !tt.stay {
					r.Leave(shim("one"))
				}
				join(t, r, "two", tt.at)
				if got, want := r.Resumable(shim("two"), o.Owner()), tt.want == nil; got != want {
					t.Errorf("Resumable = %v, want %v", got, want)
				}
				if err := o.MayAdopt(shim("two")); !errors.Is(err, tt.want) {
					t.Errorf("MayAdopt = %v, want %v", err, tt.want)
				}
				before, err := o.Adopt(shim("two"))
				if !errors.Is(err, tt.want) || before.Principal != shim("one") {
					t.Fatalf("Adopt = %v, %v, want owner one and %v", before, err, tt.want)
				}
				if got := o.Owner().Is(shim("two")); got != (tt.want == nil) {
					t.Errorf("after Adopt the owner is %v", o.Owner())
				}
				time.Sleep(2 * owners.DefaultTTL)
				if want := map[bool]int{true: 1}[tt.want != nil && !tt.stay]; h.ends() != want {
					t.Errorf("the session was ended %d times, want %d", h.ends(), want)
				}
			})
		})
	}
}

// A client without a name of its own, or with a taken name, does not join; no session of another principal is an
// orphan.
func TestJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, h := owners.New(time.Minute), &held{}
		join(t, r, "one", web)
		for _, p := range []term.Principal{shim("one"), {Transport: "http", Token: "ci"}, {}} {
			if err := r.Join(p, web); !errors.Is(err, owners.ErrNoClient) {
				t.Errorf("Join(%v) = %v, want ErrNoClient", p, err)
			}
		}
		person := term.Principal{Transport: "socket", Attachment: term.NewAttachment("id", "person")}
		o := r.Opened(person)
		o.Keep(h)
		r.Leave(person)
		time.Sleep(time.Hour)
		if got := o.Owner(); !got.Orphaned.IsZero() || h.ends() != 0 || !got.Is(person) {
			t.Errorf("a person's session has the owner %v and was ended %d times, want it theirs and not ended", got, h.ends())
		}
		if _, err := o.Adopt(person); !errors.Is(err, owners.ErrNoClient) {
			t.Errorf("Adopt by a person = %v, want ErrNoClient", err)
		}
		r.Close()
		if err := r.Join(shim("late"), web); err == nil {
			t.Error("a client joins a closed registry, want an error")
		}
	})
}

// Of clients that adopt at once, one gets the session.
func TestAdoptAtOnce(t *testing.T) {
	r, h := owners.New(0), &held{}
	defer r.Close()
	join(t, r, "one", web)
	o := r.Opened(shim("one"))
	o.Keep(h)
	r.Leave(shim("one"))
	var wg sync.WaitGroup
	got := make([]error, 8)
	for i := range got {
		name := string(rune('a' + i))
		join(t, r, name, web)
		wg.Go(func() { _, got[i] = o.Adopt(shim(name)) })
	}
	wg.Wait()
	won := 0
	for _, err := range got {
		if err == nil {
			won++
		} else if !errors.Is(err, owners.ErrPresent) {
			t.Errorf("Adopt = %v, want ErrPresent", err)
		}
	}
	if won != 1 {
		t.Errorf("%d clients have adopted the session, want 1", won)
	}
}

// An orphan ends when its time is over, counted from the moment at which its client went; no other does.
func TestTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := owners.New(time.Minute)
		join(t, r, "one", web)
		stays, given, left, late := &held{}, &held{}, &held{}, &held{}
		opened := func(h *held) *owners.Ownership {
			o := r.Opened(shim("one"))
			o.Keep(h)
			return o
		}
		s, g, l := opened(stays), opened(given), opened(left)
		inFlight := r.Opened(shim("one"))
		time.Sleep(time.Hour)
		r.Gone(shim("one"))
		inFlight.Keep(late) // its open was under way
		after := r.Opened(shim("one"))
		after.Keep(&held{})
		if got := after.Owner(); got.Place != web || got.Orphaned.IsZero() {
			t.Errorf("a session that a late call has opened has the owner %+v, want an orphan at %v", got, web)
		}
		if n := len(r.Members()); n != 0 {
			t.Errorf("%d clients are present, want none", n)
		}
		defer r.Leave(shim("one"))
		since := time.Now()
		if got := s.Owner().Orphaned; !got.Equal(since) {
			t.Errorf("Orphaned = %v, want %v", got, since)
		}
		time.Sleep(time.Minute - 1)
		join(t, r, "two", owners.Place{Dir: "/elsewhere"})
		if _, _, err := g.Give("two"); err != nil {
			t.Errorf("Give = %v, want no error", err)
		}
		if err := l.LeaveAt(owners.Place{Dir: "/srv", Any: true}); err != nil {
			t.Errorf("LeaveAt = %v, want no error", err)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if stays.ends() != 1 || late.ends() != 1 || given.ends() != 0 || left.ends() != 0 {
			t.Errorf("ended: orphan %d, opened late %d, given %d, left again %d, want 1, 1, 0, 0",
				stays.ends(), late.ends(), given.ends(), left.ends())
		}
		if _, err := s.Adopt(shim("two")); err == nil {
			t.Error("an orphan whose time is over was adopted, want an error")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if left.ends() != 1 || given.ends() != 0 {
			t.Errorf("a minute later: left again %d, given %d, want 1 and 0", left.ends(), given.ends())
		}
		if got, want := given.moves(), []string{">", "one>two"}; !slices.Equal(got, want) {
			t.Errorf("the session was told %v, want %v", got, want)
		}
		r.Close()
	})
}

// A session that a person leaves in a folder is there for any client that works in it.
func TestLeaveAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := owners.New(0)
		defer r.Close()
		person := term.Principal{Transport: "socket"}
		o := r.Opened(person)
		o.Keep(&held{})
		if err := o.LeaveAt(owners.Place{Dir: "/srv/web", Any: true}); err != nil {
			t.Fatal(err)
		}
		join(t, r, "elsewhere", owners.Place{Client: "agent", Dir: "/srv"})
		join(t, r, "there", web)
		if _, err := o.Adopt(shim("elsewhere")); !errors.Is(err, owners.ErrElsewhere) {
			t.Errorf("Adopt from another folder = %v, want ErrElsewhere", err)
		}
		if before, err := o.Adopt(shim("there")); err != nil || before.Principal == person || before.Orphaned.IsZero() {
			t.Errorf("Adopt = %v, %v, want a session that is no one's", before, err)
		}
		if _, _, err := o.Give("nobody"); !errors.Is(err, owners.ErrNoMember) {
			t.Errorf("Give to a client that is not there = %v, want ErrNoMember", err)
		}
	})
}

// Close leaves no timer: a bubble with one that has not fired would report it as a goroutine that waits.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, h := owners.New(time.Minute), &held{}
		join(t, r, "one", web)
		r.Opened(shim("one")).Keep(h)
		r.Leave(shim("one"))
		r.Close()
		time.Sleep(time.Hour)
		if h.ends() != 0 {
			t.Errorf("a closed registry has ended %d sessions, want none", h.ends())
		}
	})
}
