package mcpapi

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ptyctl/session"
	"ptyctl/term"
)

// transports are the ways in which the official client is connected.
var transports = map[string]func(*testing.T, labConfig, string, sdk.ClientOptions) (*lab, *official){
	"stdio": func(t *testing.T, c labConfig, revision string, o sdk.ClientOptions) (*lab, *official) {
		t.Helper()
		l, srv := newLabServer(t, c)
		return l, newOfficial(t, srv, revision, o)
	},
	"http": func(t *testing.T, c labConfig, revision string, o sdk.ClientOptions) (*lab, *official) {
		t.Helper()
		l, srv := newLabServer(t, c)
		return l, newOfficialHTTP(t, srv, revision, o)
	},
}

func forEachClient(
	t *testing.T,
	f func(t *testing.T, revision string, connect func(*testing.T, labConfig, string, sdk.ClientOptions) (*lab, *official)),
) {
	t.Helper()
	for name, connect := range transports {
		for _, revision := range sdkRevisions {
			t.Run(name+" "+revision, func(t *testing.T) { f(t, revision, connect) })
		}
	}
}

func TestResources(t *testing.T) {
	forEachClient(
		t,
		func(t *testing.T, revision string, connect func(*testing.T, labConfig, string, sdk.ClientOptions) (*lab, *official)) {
			config := watched(t, labConfig{sessions: session.Config{Retention: 300 * time.Millisecond}})
			l, c := connect(t, config, revision, sdk.ClientOptions{})
			templates, err := c.ListResourceTemplates(t.Context(), nil)
			if err != nil || len(templates.ResourceTemplates) != 2 ||
				templates.ResourceTemplates[0].URITemplate != "ptyctl://sessions/{id}" ||
				templates.ResourceTemplates[1].URITemplate != "ptyctl://sessions/{id}/tail" {
				t.Errorf("templates: %+v, %v", templates, err)
			}
			if got := c.uris(); strings.Join(got, " ") != sessionsURI {
				t.Errorf("at first there are %q", got)
			}
			// A session opens: the list has changed, and so has the resource that shows all.
			if err := c.Subscribe(t.Context(), &sdk.SubscribeParams{URI: sessionsURI}); err != nil {
				t.Fatal(err)
			}
			wantWatched(t, config.options.Watch, func(w *watcher) bool { return w.list })
			wantWatched(t, config.options.Watch, func(w *watcher) bool { return w.uris[sessionsURI] })
			id := c.call(sessionTool.Name, l.openArgs("")).SessionID
			c.wantChanged("list", sessionsURI)
			if got := c.uris(); strings.Join(got, " ") != sessionsURI+" "+statusURI(id)+" "+tailURI(id) {
				t.Errorf("with a session there are %q", got)
			}
			var list, status reply
			if err := json.Unmarshal([]byte(c.text(sessionsURI)), &list); err != nil || len(list.Sessions) != 1 ||
				list.Sessions[0].SessionID != id {
				t.Errorf("%s: %v, %+v", sessionsURI, err, list)
			}
			if err := json.Unmarshal([]byte(c.text(statusURI(id))), &status); err != nil || status.Session == nil ||
				status.Session.State != "open" ||
				status.SessionID != id {
				t.Errorf("%s: %v, %+v", statusURI(id), err, status)
			}

			// Something is typed: its tail changes.
			for _, uri := range []string{statusURI(id), tailURI(id)} {
				if err := c.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}); err != nil {
					t.Fatal(err)
				}
				wantWatched(t, config.options.Watch, func(w *watcher) bool { return w.uris[uri] })
			}
			c.call(
				ioTool.Name,
				`{"action":"write","session_id":"`+id+`","data":"printf '\\033[1mbo%s\\033[0m\\n' ld; seq 300\r","until_regex":"300\r\n","timeout_ms":10000}`,
			)
			c.wantChanged(tailURI(id))
			if tail := c.text(tailURI(id)); !strings.Contains(tail, "\n299\n300\n") || strings.Contains(tail, "bold") ||
				strings.Count(tail, "\n") > tailLines ||
				strings.ContainsAny(tail, "\r\033") {
				t.Errorf("the tail is %q", tail)
			}
			// It ends, and a moment later is gone.
			c.call(sessionTool.Name, `{"action":"close","session_id":"`+id+`"}`)
			c.wantChanged(statusURI(id), sessionsURI, "list")
			if got := c.uris(); strings.Join(got, " ") != sessionsURI {
				t.Errorf("in the end there are %q", got)
			}
			want := int64(-32002)
			if revision >= "2026-07-28" {
				want = -32602
			}
			for _, uri := range []string{statusURI(id), tailURI(id), statusURI("x"), statusURI("x/y"), "ptyctl://other"} {
				_, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
				var e *jsonrpc.Error
				if !errors.As(err, &e) || e.Code != want {
					t.Errorf("%s, which is not there: %v, want code %d", uri, err, want)
				}
			}
		},
	)
}

// wantWatched waits for a watcher of that kind: since revision 2026-07-28 the client does not wait until it is one.
func wantWatched(t *testing.T, w *Watch, kind func(*watcher) bool) {
	t.Helper()
	f := (*w.feeds.Load())[0]
	found := func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, w := range f.watchers {
			if kind(w) {
				return true
			}
		}
		return false
	}
	for deadline := time.Now().Add(10 * time.Second); !found(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nobody watches")
		}
	}
}

func (c *official) uris() []string {
	c.t.Helper()
	res, err := c.ListResources(c.t.Context(), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	var uris []string
	for _, r := range res.Resources {
		uris = append(uris, r.URI)
	}
	return uris
}

func (c *official) text(uri string) string {
	c.t.Helper()
	res, err := c.ReadResource(c.t.Context(), &sdk.ReadResourceParams{URI: uri})
	if err != nil || len(res.Contents) != 1 || res.Contents[0].URI != uri {
		c.t.Fatalf("%s: %+v, %v", uri, res, err)
	}
	return res.Contents[0].Text
}

// TestWatchGathers: changes that happen together make one notification, sent only to clients that asked, and an
// observer without clients keeps no state.
func TestWatchGathers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWatch()
		m := session.NewManager(session.Config{Observers: []term.Observer{w}})
		srv := NewServer(Options{Sessions: m, Watch: w})
		c := serveLines(t, srv)
		c.send(initializeLine)
		c.next()
		c.send(initializedLine)
		f := (*w.feeds.Load())[0]
		for range 100 {
			w.Observe(term.Event{Verb: term.VerbOpen, Session: "s"})
		}
		synctest.Wait()
		if len(f.changed) != 0 || f.watching.Load() {
			t.Errorf("changes are kept that nobody wants: %v", f.changed)
		}
		c.send(`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"ptyctl://sessions"}}`)
		c.next()
		c.send(`{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"ptyctl://sessions/nowhere"}}`)
		c.next()
		began := time.Now()
		for range 50 {
			w.Observe(term.Event{Verb: term.VerbState, Session: "s"})
			w.Observe(term.Event{Verb: term.VerbState, Session: "nowhere"})
			w.Observe(term.Event{Verb: term.VerbOutput, Session: "s"})
			w.Observe(term.Event{Verb: term.VerbLock, Session: "s", Refused: term.Locked})
			time.Sleep(time.Millisecond)
		}
		if a := c.next(); a.Method != "notifications/resources/updated" || time.Since(began) != gatherState {
			t.Errorf("%s after %v", a.Method, time.Since(began))
		}
		// The next that comes is the answer to a later request: there was no second notification.
		time.Sleep(time.Minute)
		c.send(`{"jsonrpc":"2.0","id":4,"method":"resources/unsubscribe","params":{"uri":"ptyctl://sessions"}}`)
		if a := c.next(); string(a.ID) != "4" {
			t.Errorf("told again: %+v", a)
		}
		w.Observe(term.Event{Verb: term.VerbState, Session: "s"})
		time.Sleep(time.Minute)
		c.send(`{"jsonrpc":"2.0","id":5,"method":"ping"}`)
		if a := c.next(); string(a.ID) != "5" {
			t.Errorf("told after it was unsubscribed: %+v", a)
		}
		c.wantEnd()
		w.Close()
		w.Close()
		NewServer(Options{Sessions: m, Watch: w}) // too late: it starts nothing
		m.Close(t.Context())
	})
}

// TestWatchIsBounded: however many sessions change at once, no more than a known number are kept apart.
func TestWatchIsBounded(t *testing.T) {
	w := &watcher{
		uris: map[string]bool{sessionsURI: true, statusURI("a"): true, tailURI("b"): true},
		list: true,
		due:  make(map[string]time.Time),
	}
	f := &feed{changed: make(map[string]change), wake: make(chan struct{}, 1)}
	f.watching.Store(true)
	f.tails.Store(true)
	for i := range 3 * maxChanged {
		f.note(strings.Repeat("x", i%7)+string(rune('a'+i%26))+time.Duration(i).String(), changedOutput)
	}
	if n := len(f.changed); n > maxChanged+1 {
		t.Errorf("%d are kept", n)
	}
	w.mark("", f.changed[""], time.Now())
	if len(w.due) != 4 {
		t.Errorf("when all may have changed, it is told of %v", w.due)
	}
}

// BenchmarkObserve measures the cost to a session of being watched: the observer gets each chunk of output.
func BenchmarkObserve(b *testing.B) {
	for name, uris := range map[string][]string{"nobody watches": nil, "the state is watched": {statusURI("s")}, "the tail is watched": {tailURI("s")}} {
		b.Run(name, func(b *testing.B) {
			w := NewWatch()
			defer w.Close()
			NewServer(Options{Sessions: session.NewManager(session.Config{}), Watch: w})
			f := (*w.feeds.Load())[0]
			f.mu.Lock()
			for _, uri := range uris {
				f.watchers[uri] = &watcher{
					ctx:    b.Context(),
					stream: idleSession{},
					uris:   map[string]bool{uri: true},
					due:    make(map[string]time.Time),
				}
			}
			f.countLocked()
			f.mu.Unlock()
			e := term.Event{Verb: term.VerbOutput, Session: "s", Size: 4096}
			b.ReportAllocs()
			for b.Loop() {
				w.Observe(e)
			}
		})
	}
}
