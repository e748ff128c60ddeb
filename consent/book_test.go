package consent

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/term"
)

// aCall is a call that needs consent.
func aCall() Call {
	return Call{
		Actor: term.Actor{Transport: "stdio", Client: "agent", Task: "t1"}, Tool: "exec", Action: "exec", Session: "web1",
		Verb: term.VerbExec, Arguments: json.RawMessage(`{"session_id":"web1","cmd":"reboot","request_id":"a"}`),
		Attempt: "request_id", Wanted: term.Consent{Rule: "ask reboot", Protocol: "ssh", Host: "web1", Text: "reboot"},
	}
}

var person = term.Actor{Transport: "socket", Client: "ptyctl answer", PID: 4711, Operator: true}

func answer(t *testing.T, b *Book, yes bool) {
	t.Helper()
	list := b.List()
	if len(list) != 1 {
		t.Fatalf("List() = %+v, want one question", list)
	}
	if err := b.Answer(term.WithActor(t.Context(), person), list[0].ID, yes); err != nil {
		t.Fatalf("Answer(%s, %t) = %v, want nil", list[0].ID, yes, err)
	}
}

func ask(t *testing.T, b *Book, c Call, wait time.Duration) Outcome {
	t.Helper()
	got, _, err := b.Ask(t.Context(), c, wait)
	if err != nil {
		t.Fatalf("Ask(%+v) = %v, want no error", c.Wanted, err)
	}
	return got
}

// A call that waits gets the answer when it comes, and the answer is used up.
func TestAnswerOfOneThatWaits(t *testing.T) {
	for want, yes := range map[Outcome]bool{Agreed: true, Denied: false} {
		synctest.Test(t, func(t *testing.T) {
			b := NewBook(Options{})
			var wg sync.WaitGroup
			wg.Go(func() {
				if got := ask(t, b, aCall(), time.Minute); got != want {
					t.Errorf("Ask = %d, want %d", got, want)
				}
			})
			synctest.Wait()
			if list := b.List(); len(list) != 1 || !list[0].Waits {
				t.Errorf("List() = %+v, want one question, for which a call waits", list)
			}
			answer(t, b, yes)
			wg.Wait()
			if got := ask(t, b, aCall(), 0); got != Waiting {
				t.Errorf("Ask once more = %d, want %d: an answer is used once", got, Waiting)
			}
		})
	}
}

// The same call uses the answer that comes after its first attempt, until the question expires.
func TestAnswerOfLaterCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBook(Options{TTL: 10 * time.Minute})
		if got := ask(t, b, aCall(), 3*time.Second); got != Waiting {
			t.Fatalf("Ask without an answer = %d, want %d", got, Waiting)
		}
		answer(t, b, true)
		again := aCall()
		again.Arguments = json.RawMessage(`{"cmd":"reboot", "request_id":"b","session_id":"web1"}`)
		if got := ask(t, b, again, 0); got != Agreed {
			t.Errorf("Ask by the same call, written in another way = %d, want %d", got, Agreed)
		}
		// Too late.
		ask(t, b, aCall(), 0)
		answer(t, b, true)
		time.Sleep(10 * time.Minute)
		if got := ask(t, b, aCall(), 0); got != Waiting {
			t.Errorf("Ask after the answer has expired = %d, want %d, a new question", got, Waiting)
		}
	})
}

// Another call must not use an answer, however alike it is.
func TestAnotherCall(t *testing.T) {
	for name, change := range map[string]func(*Call){
		"transport":    func(c *Call) { c.Actor.Transport = "http" },
		"token":        func(c *Call) { c.Actor.Token = "ci" },
		"conversation": func(c *Call) { c.Actor.Shim = "shim-1" },
		"client":       func(c *Call) { c.Actor.Client = "other" },
		"task":         func(c *Call) { c.Actor.Task = "t2" },
		"person":       func(c *Call) { c.Actor.Attachment = term.NewAttachment("1", "person p") },
		"tool":         func(c *Call) { c.Tool = "io" },
		"action":       func(c *Call) { c.Action = "write" },
		"session":      func(c *Call) { c.Session = "web2" },
		"argument": func(c *Call) {
			c.Arguments = json.RawMessage(`{"session_id":"web1","cmd":"reboot","request_id":"a","stdin":"x"}`)
		},
		"number": func(c *Call) { c.Arguments = json.RawMessage(`{"n":9007199254740993}`) },
		"text":   func(c *Call) { c.Wanted.Text = "reboot -f" },
		"typed":  func(c *Call) { c.Wanted.Typed = true },
		"folder": func(c *Call) { c.Wanted.Dir = "/" },
		"env":    func(c *Call) { c.Wanted.Env = "A=1\n" },
		"host":   func(c *Call) { c.Wanted.Host = "web2" },
		"user":   func(c *Call) { c.Wanted.User = "root" },
	} {
		t.Run(name, func(t *testing.T) {
			b := NewBook(Options{})
			first, other := aCall(), aCall()
			if name == "number" { // as float64 it is the same
				first.Arguments = json.RawMessage(`{"n":9007199254740992}`)
			}
			ask(t, b, first, 0)
			answer(t, b, true)
			change(&other)
			if got := ask(t, b, other, 0); got != Waiting {
				t.Errorf("Ask by a call with another %s = %d, want %d, a question of its own", name, got, Waiting)
			}
			if got := ask(t, b, first, 0); got != Agreed {
				t.Errorf("Ask by the first call = %d, want %d", got, Agreed)
			}
		})
	}
}

// Of two calls that are the same, one gets the answer, and the other asks a new question.
func TestTwoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBook(Options{})
		got := make(chan Outcome, 2)
		for range 2 {
			go func() { got <- ask(t, b, aCall(), time.Minute) }()
		}
		synctest.Wait()
		first := b.List()[0].ID
		answer(t, b, true)
		synctest.Wait()
		if o := <-got; o != Agreed {
			t.Errorf("Ask of the first one = %d, want %d", o, Agreed)
		}
		if list := b.List(); len(list) != 1 || list[0].ID == first {
			t.Errorf("List() = %+v, want a new question, and not %s", list, first)
		}
		answer(t, b, false)
		if o := <-got; o != Denied {
			t.Errorf("Ask of the second one = %d, want %d", o, Denied)
		}
	})
}

// A late answer is refused: the question was answered, has expired, or its session or client is gone.
func TestLateAnswer(t *testing.T) {
	for name, end := range map[string]func(b *Book){
		"answered":      func(b *Book) { _ = b.Answer(context.Background(), b.List()[0].ID, false) },
		"expired":       func(*Book) { time.Sleep(10 * time.Minute) },
		"session ended": func(b *Book) { b.Withdraw("web1") },
		"client gone":   func(b *Book) { b.Leave(aCall().Actor.Principal()) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := NewBook(Options{})
				ask(t, b, aCall(), 0)
				id := b.List()[0].ID
				end(b)
				if err := b.Answer(t.Context(), id, true); !errors.Is(err, term.NotFound) {
					t.Errorf("Answer = %v, want %s", err, term.NotFound)
				}
				if list := b.List(); len(list) != 0 {
					t.Errorf("List() = %+v, want nothing", list)
				}
			})
		})
	}
}

// A call that waits ends with the question.
func TestEndOfWait(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func(b *Book)
		want Outcome
	}{
		"expired":       {func(*Book) { time.Sleep(10 * time.Minute) }, Expired},
		"session ended": {func(b *Book) { b.Withdraw("web1") }, Expired},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := NewBook(Options{})
				got := make(chan Outcome)
				go func() { got <- ask(t, b, aCall(), time.Hour) }()
				synctest.Wait()
				tt.end(b)
				if o := <-got; o != tt.want {
					t.Errorf("Ask = %d, want %d", o, tt.want)
				}
			})
		})
	}
}

// A call that was canceled uses no answer up: the person has agreed for the next attempt.
func TestCanceled(t *testing.T) {
	b := NewBook(Options{})
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, _, err := b.Ask(ctx, aCall(), time.Hour); !errors.Is(err, context.Canceled) {
		t.Fatalf("Ask = %v, want %v", err, context.Canceled)
	}
	answer(t, b, true)
	if _, _, err := b.Ask(ctx, aCall(), time.Hour); !errors.Is(err, context.Canceled) {
		t.Fatalf("Ask = %v, want %v", err, context.Canceled)
	}
	if got := ask(t, b, aCall(), 0); got != Agreed {
		t.Errorf("Ask = %d, want %d", got, Agreed)
	}
}

// A caller cannot fill the list, for itself or for others.
func TestMost(t *testing.T) {
	b := NewBook(Options{})
	for i := range maxOfOne {
		c := aCall()
		c.Wanted.Text = strings.Repeat("x", i+1)
		ask(t, b, c, 0)
	}
	if _, _, err := b.Ask(t.Context(), aCall(), 0); !errors.Is(err, term.LimitExceeded) {
		t.Errorf("Ask of one caller too often = %v, want %s", err, term.LimitExceeded)
	}
	other := aCall()
	other.Actor.Token = "other"
	if got := ask(t, b, other, 0); got != Waiting {
		t.Errorf("Ask of another caller = %d, want %d", got, Waiting)
	}
}

// The audit log has who asked, who answered, and the answer; of typed text it has only the size.
func TestRecord(t *testing.T) {
	var events []term.Event
	b := NewBook(Options{Observe: func(e term.Event) { events = append(events, e) }})
	c := aCall()
	ask(t, b, c, 0)
	answer(t, b, true)
	c.Wanted.Text, c.Wanted.Typed = "secret-1138\r", true
	ask(t, b, c, 0)
	if len(events) != 3 {
		t.Fatalf("%d events, want 3: %+v", len(events), events)
	}
	asked, agreed, typed := events[0], events[1], events[2]
	if asked.State != "asked" || asked.Actor != c.Actor || asked.Command != "reboot" || asked.Consent != "ask reboot" {
		t.Errorf("event of the question = %+v, want that of the caller", asked)
	}
	if agreed.State != "agreed" || agreed.Actor != person || !strings.Contains(agreed.Detail, "asked by agent over stdio, task t1") {
		t.Errorf("event of the answer = %+v, want that of the person, with who asked", agreed)
	}
	if typed.Command != "" || typed.Size != len(c.Wanted.Text) || !typed.Sensitive {
		t.Errorf("event of typed text = %+v, want its size alone", typed)
	}
}

// A notebook keeps the events of a Book. Some of them come from timers.
type notebook struct {
	mu      sync.Mutex // guards the following
	events  []term.Event
	changes int
}

func (n *notebook) observe(e term.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.events = append(n.events, e)
}

func (n *notebook) changed() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.changes++
}

// take returns the events and changes so far, and clears them.
func (n *notebook) take() (events []term.Event, changes int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	events, changes = n.events, n.changes
	n.events, n.changes = nil, 0
	return events, changes
}

// A question that ends without an answer is on record once, with its rule and who asked: when its time is over, though no
// call waits any more; when its session ends; and when the book closes. An answered one is not, whether used or not.
func TestRecordOfEnd(t *testing.T) {
	const expired, withdrawn = "expired", "withdrawn"
	for name, tt := range map[string]struct {
		wait time.Duration
		end  func(t *testing.T, b *Book)
		want []string
	}{
		"expired":               {0, func(*testing.T, *Book) { time.Sleep(10 * time.Minute) }, []string{expired}},
		"expired, a call waits": {time.Hour, func(*testing.T, *Book) { time.Sleep(10 * time.Minute) }, []string{expired}},
		"expired, then listed":  {0, func(_ *testing.T, b *Book) { time.Sleep(10 * time.Minute); b.List() }, []string{expired}},
		"session ended":         {0, func(_ *testing.T, b *Book) { b.Withdraw("web1") }, []string{withdrawn}},
		"client gone":           {0, func(_ *testing.T, b *Book) { b.Leave(aCall().Actor.Principal()) }, []string{withdrawn}},
		"the book is closed":    {0, func(_ *testing.T, b *Book) { b.Close(); b.Close() }, []string{withdrawn}},
		"agreed":                {0, func(t *testing.T, b *Book) { answer(t, b, true) }, []string{"agreed"}},
		"denied":                {0, func(t *testing.T, b *Book) { answer(t, b, false); b.Withdraw("web1") }, []string{"denied"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var notes notebook
				b := NewBook(Options{Observe: notes.observe, Changed: notes.changed})
				var wait sync.WaitGroup
				wait.Go(func() { ask(t, b, aCall(), tt.wait) })
				synctest.Wait()
				notes.take()
				tt.end(t, b)
				synctest.Wait()
				events, changes := notes.take()
				if changes == 0 {
					t.Error("the end of a question is told to no list")
				}
				wait.Wait()
				time.Sleep(time.Hour)
				b.Close()
				more, _ := notes.take()
				var got []string
				for _, e := range append(events, more...) {
					got = append(got, e.State)
					if e.Consent != "ask reboot" || !strings.Contains(e.Detail, "asked by agent over stdio, task t1") {
						t.Errorf("the event is %+v, want the rule and who asked", e)
					}
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("the record of the question has %q, want %q", got, tt.want)
				}
				if _, _, err := b.Ask(t.Context(), aCall(), 0); !errors.Is(err, term.Canceled) {
					t.Errorf("Ask of a closed book = %v, want %s", err, term.Canceled)
				}
			})
		})
	}
}

// Where an action must be on record, so must an answer.
func TestJournal(t *testing.T) {
	bad := errors.New("disk full")
	b := NewBook(Options{Journal: func(term.Event) error { return bad }})
	ask(t, b, aCall(), 0)
	if err := b.Answer(t.Context(), b.List()[0].ID, true); !errors.Is(err, bad) {
		t.Errorf("Answer without a record = %v, want %v", err, bad)
	}
	if got := ask(t, b, aCall(), 0); got != Waiting {
		t.Errorf("Ask = %d, want %d: the answer does not count", got, Waiting)
	}
}

// A person must see all that they allow.
func TestShowable(t *testing.T) {
	for text, want := range map[string]bool{
		"reboot": true, "a\nb": true, "a\rb\r": true, "ö 漢": true,
		"a\x1b[2J": false, "a\tb": false, "a\u202eb": false, "a\u00a0b": false, "a\xffb": false, "a\x00": false,
		strings.Repeat("x", maxShown): true, strings.Repeat("x", maxShown+1): false,
		strings.Repeat("\n", maxLines+1): false,
	} {
		if got := Showable(term.Consent{Text: text}); got != want {
			t.Errorf("Showable(%.40q) = %t, want %t", text, got, want)
		}
	}
}

// valued is a question for the value of a secret.
func valued() term.SecretQuestion {
	return term.SecretQuestion{Secret: "pw", Rule: "secret.pw.source", Value: true, About: term.SecretRequest{
		Name: "pw", Use: term.SecretTerminal, Prompt: "Password: ", Wait: time.Second,
		Peer: term.Peer{Protocol: "ssh", Session: "web1", Host: "web1"},
	}}
}

// A value that a person gives is for the same request, once; it is on no record, and gone when it expires.
func TestValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var notes notebook
		b := NewBook(Options{TTL: time.Minute, Observe: notes.observe})
		defer b.Close()
		ctx := term.WithActor(t.Context(), aCall().Actor)
		give := func() {
			t.Helper()
			id := b.List()[0].ID
			for _, wrong := range []error{
				b.Answer(t.Context(), id, true), b.Give(t.Context(), id, nil),
			} {
				if !errors.Is(wrong, term.InvalidArgument) {
					t.Errorf("yes, or nothing, for a value: %v, want INVALID_ARGUMENT", wrong)
				}
			}
			if err := b.Give(t.Context(), id, []byte("hunter2")); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.AskSecret(ctx, valued(), nil); !errors.Is(err, term.Busy) || !term.NeedsPerson(err) {
			t.Fatalf("AskSecret without an answer = %v, want BUSY", err)
		}
		give()
		other := valued()
		other.About.Peer.Session = "web2"
		if _, err := b.AskSecret(ctx, other, nil); !errors.Is(err, term.Busy) {
			t.Errorf("AskSecret for another session = %v, want a question of its own", err)
		}
		got, err := b.AskSecret(ctx, valued(), nil)
		if string(got) != "hunter2" || err != nil {
			t.Errorf("AskSecret of the same request = %q, %v; want the value", got, err)
		}
		if _, err := b.AskSecret(ctx, valued(), nil); !errors.Is(err, term.Busy) {
			t.Errorf("AskSecret once more = %v, want another question", err)
		}
		for _, q := range b.List() {
			if q.Session == "web1" {
				if err := b.Give(t.Context(), q.ID, []byte("hunter2")); err != nil {
					t.Fatal(err)
				}
			}
		}
		var kept []byte
		b.mu.Lock() // a timer may end them now
		for _, e := range b.entries {
			if len(e.value) > 0 {
				kept = e.value
			}
		}
		b.mu.Unlock()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if len(b.entries) != 0 || string(kept) != "\x00\x00\x00\x00\x00\x00\x00" {
			t.Errorf("after its time the value is %q, with %d questions; want it wiped", kept, len(b.entries))
		}
		seen, _ := notes.take()
		for _, e := range seen {
			if strings.Contains(e.Detail+e.Command, "hunter2") {
				t.Errorf("on record is %+v", e)
			}
		}
	})
}

// A person who denies ends the wait, and a request that cannot be shown is not asked.
func TestValueDenied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBook(Options{})
		defer b.Close()
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := b.AskSecret(t.Context(), valued(), nil); !errors.Is(err, term.PolicyDenied) {
				t.Errorf("AskSecret = %v, want POLICY_DENIED", err)
			}
		})
		synctest.Wait()
		answer(t, b, false)
		wg.Wait()
		hidden := valued()
		hidden.About.Prompt = "Password:\x1b[2J"
		if _, err := b.AskSecret(t.Context(), hidden, nil); !errors.Is(err, term.PolicyDenied) || len(b.List()) != 0 {
			t.Errorf("AskSecret about controls = %v, %d questions; want POLICY_DENIED and none", err, len(b.List()))
		}
	})
}
