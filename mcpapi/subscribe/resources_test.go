package subscribe_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ptyctl/mcpapi"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/mcpapi/subscribe"
	"ptyctl/session"
	"ptyctl/term"
)

// The URIs of the resources.
const listURI = "ptyctl://sessions"

func stateURI(id string) string { return listURI + "/" + id }
func tailOf(id string) string   { return stateURI(id) + "/tail" }

func TestResources(t *testing.T) {
	mcptest.ForEachClient(
		t,
		func(t *testing.T, revision string, connect mcptest.Connect) {
			config := mcptest.Watched(t, mcptest.Config{Sessions: session.Config{Retention: 300 * time.Millisecond}})
			l, c := connect(t, config, revision, sdk.ClientOptions{})
			templates, err := c.ListResourceTemplates(t.Context(), nil)
			if err != nil || len(templates.ResourceTemplates) != 2 ||
				templates.ResourceTemplates[0].URITemplate != "ptyctl://sessions/{id}" ||
				templates.ResourceTemplates[1].URITemplate != "ptyctl://sessions/{id}/tail" {
				t.Errorf("templates: %+v, %v", templates, err)
			}
			if got := c.URIs(); strings.Join(got, " ") != listURI {
				t.Errorf("at first there are %q", got)
			}
			// A session opens: the list has changed, and so has the resource that shows all.
			if err := c.Subscribe(t.Context(), &sdk.SubscribeParams{URI: listURI}); err != nil {
				t.Fatal(err)
			}
			wantWatched(t, config.Options.Watch, "")
			wantWatched(t, config.Options.Watch, listURI)
			id := c.Call(mcptest.SessionTool, l.OpenArgs("")).SessionID
			c.WantChanged("list", listURI)
			if got := c.URIs(); strings.Join(got, " ") != listURI+" "+stateURI(id)+" "+tailOf(id) {
				t.Errorf("with a session there are %q", got)
			}
			var list, status mcptest.Reply
			if err := json.Unmarshal([]byte(c.Text(listURI)), &list); err != nil || len(list.Sessions) != 1 ||
				list.Sessions[0].SessionID != id {
				t.Errorf("%s: %v, %+v", listURI, err, list)
			}
			if err := json.Unmarshal([]byte(c.Text(stateURI(id))), &status); err != nil || status.Session == nil ||
				status.Session.State != "open" ||
				status.SessionID != id {
				t.Errorf("%s: %v, %+v", stateURI(id), err, status)
			}

			// Something is typed: its tail changes.
			for _, uri := range []string{stateURI(id), tailOf(id)} {
				if err := c.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}); err != nil {
					t.Fatal(err)
				}
				wantWatched(t, config.Options.Watch, uri)
			}
			c.Call(
				mcptest.IOTool,
				`{"action":"write","session_id":"`+id+`","data":"printf '\\033[1mbo%s\\033[0m\\n' ld; seq 300\r","until_regex":"300\n","timeout_ms":10000}`,
			)
			c.WantChanged(tailOf(id))
			if tail := c.Text(tailOf(id)); !strings.Contains(tail, "\n299\n300\n") || strings.Contains(tail, "bold") ||
				strings.Count(tail, "\n") > 100 ||
				strings.ContainsAny(tail, "\r\033") {
				t.Errorf("the tail is %q", tail)
			}
			// It ends, and a moment later is gone.
			c.Call(mcptest.SessionTool, `{"action":"close","session_id":"`+id+`"}`)
			c.WantChanged(stateURI(id), listURI, "list")
			if got := c.URIs(); strings.Join(got, " ") != listURI {
				t.Errorf("in the end there are %q", got)
			}
			want := int64(-32002)
			if revision >= "2026-07-28" {
				want = -32602
			}
			for _, uri := range []string{stateURI(id), tailOf(id), stateURI("x"), stateURI("x/y"), "ptyctl://other"} {
				_, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
				var e *jsonrpc.Error
				if !errors.As(err, &e) || e.Code != want {
					t.Errorf("%s, which is not there: %v, want code %d", uri, err, want)
				}
			}
		},
	)
}

// wantWatched waits until a client watches a resource, or the list of all for "": since revision 2026-07-28 the client
// does not wait until it does.
func wantWatched(t *testing.T, w *subscribe.Watch, uri string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !subscribe.Watched(w, uri); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no client watches %q", uri)
		}
	}
}

// TestWatchGathers: changes that happen together make one notification, sent only to clients that asked, and an
// observer without clients keeps no state.
func TestWatchGathers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := subscribe.NewWatch()
		m := session.NewManager(session.Config{Observers: []term.Observer{w}})
		srv := mcpapi.NewServer(mcpapi.Options{Sessions: m, Watch: w})
		c := mcptest.ServeLines(t, srv)
		c.Send(mcptest.InitializeLine)
		c.Next()
		c.Send(mcptest.InitializedLine)
		for range 100 {
			w.Observe(term.Event{Verb: term.VerbOpen, Session: "s"})
		}
		synctest.Wait()
		if changed, _, watching := subscribe.Kept(w); changed != 0 || watching {
			t.Errorf("%d changes are kept that nobody wants, watching %v", changed, watching)
		}
		c.Send(`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"ptyctl://sessions"}}`)
		c.Next()
		c.Send(`{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"ptyctl://sessions/nowhere"}}`)
		c.Next()
		began := time.Now()
		for range 50 {
			w.Observe(term.Event{Verb: term.VerbState, Session: "s"})
			w.Observe(term.Event{Verb: term.VerbState, Session: "nowhere"})
			w.Observe(term.Event{Verb: term.VerbOutput, Session: "s"})
			w.Observe(term.Event{Verb: term.VerbLock, Session: "s", Refused: term.Locked})
			time.Sleep(time.Millisecond)
		}
		if a := c.Next(); a.Method != "notifications/resources/updated" || time.Since(began) != subscribe.GatherState {
			t.Errorf("%s after %v", a.Method, time.Since(began))
		}
		// The next that comes is the answer to a later request: there was no second notification.
		time.Sleep(time.Minute)
		c.Send(`{"jsonrpc":"2.0","id":4,"method":"resources/unsubscribe","params":{"uri":"ptyctl://sessions"}}`)
		if a := c.Next(); string(a.ID) != "4" {
			t.Errorf("told again: %+v", a)
		}
		w.Observe(term.Event{Verb: term.VerbState, Session: "s"})
		time.Sleep(time.Minute)
		c.Send(`{"jsonrpc":"2.0","id":5,"method":"ping"}`)
		if a := c.Next(); string(a.ID) != "5" {
			t.Errorf("told after it was unsubscribed: %+v", a)
		}
		c.WantEnd()
		w.Close()
		w.Close()
		mcpapi.NewServer(mcpapi.Options{Sessions: m, Watch: w}) // too late: it starts nothing
		m.Close(t.Context())
	})
}
