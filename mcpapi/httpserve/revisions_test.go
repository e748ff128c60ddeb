package httpserve_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"ptyctl/mcpapi/httpserve"
	"ptyctl/term"
)

// A diary records who did each action.
type diary struct {
	mu     sync.Mutex
	events []term.Event
}

func (d *diary) Observe(e term.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e.Data = nil
	d.events = append(d.events, e)
}

// of returns the last event of a verb.
func (d *diary) of(verb term.Verb) (last term.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.events {
		if e.Verb == verb {
			last = e
		}
	}
	return last
}

// Clients of every revision can begin, list and call over HTTP, and the events name the
// client.
func TestRevisions(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			var seen diary
			s := newSite(t, httpserve.Options{Tokens: allTokens}, &seen)
			var a agent
			who := term.Actor{Transport: "http", Client: "tester", Version: "7", Token: "writer"}
			if revision == "2026-07-28" {
				a = s.modern(writeToken)
				who.Client, who.Version = "modern", "8"
				if r := a.ask("server/discover", ""); r.status != 200 || !strings.Contains(string(r.Result), revision) {
					t.Fatalf("server/discover = %d %s, want success", r.status, r.text)
				}
			} else {
				a = s.initialize(writeToken, revision)
			}

			var list struct {
				Tools []struct {
					Name         string
					OutputSchema json.RawMessage
				}
			}
			if r := a.ask("tools/list", ""); json.Unmarshal(r.Result, &list) != nil || len(list.Tools) != 5 {
				t.Fatalf("tools/list = %d %s, want the tools", r.status, r.text)
			}
			structured := revision >= "2025-06-18"
			for _, tool := range list.Tools {
				if (tool.OutputSchema != nil) != structured {
					t.Errorf("output schema of %s = %s, want one exactly in revisions that have them", tool.Name, tool.OutputSchema)
				}
			}
			id := a.open()
			if got := seen.of(term.VerbOpen).Actor; got != who {
				t.Errorf("open was by %+v, want %+v", got, who)
			}
			r := a.call("ptyctl_session_io", `{"action":"write","session_id":"`+id+`","data":"hello","until_regex":"hello"}`)
			if r.Chunk != "hello" || r.structured != structured {
				t.Errorf("write = %s, structured %v; want success", r.text, r.structured)
			}
			if got := seen.of(term.VerbWrite).Actor; got != who {
				t.Errorf("write was by %+v, want %+v", got, who)
			}
		})
	}
}

// A cancellation is accepted in the form of every revision: for example, the official Go
// client gives up on a server that refuses it.
func TestCancelled(t *testing.T) {
	s := newSite(t, httpserve.Options{Tokens: allTokens})
	const cancelled = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`
	for name, m := range map[string]message{
		"modern, without _meta": {token: writeToken, revision: "2026-07-28", body: cancelled},
		"modern, with _meta": {token: writeToken, revision: "2026-07-28", body: strings.Replace(cancelled,
			`{"requestId"`, `{`+modernMeta+`,"requestId"`, 1)},
		"with a session": {token: writeToken, revision: latest, session: s.initialize(writeToken,
			latest).session, body: cancelled},
		"before there were version headers": {
			token: writeToken, session: s.initialize(writeToken, "2025-03-26").session,
			body: cancelled,
		},
	} {
		if r := s.send(m); r.status != 202 || r.text != "" {
			t.Errorf("cancellation in the form %s = %d %s, want it accepted", name, r.status, r.text)
		}
	}
}

// In revisions that have cancellations, one ends the wait of a call.
func TestCancelEndsTheWait(t *testing.T) {
	s := newSite(t, httpserve.Options{})
	a := s.initialize("", latest)
	id := a.open()
	m := a.asking(
		"tools/call",
		calling("ptyctl_session_io", `{"action":"read","session_id":"`+id+`","until_regex":"never","timeout_ms":40000}`),
	)
	m.body = strings.Replace(m.body, `"id":2`, `"id":77`, 1)
	answered := make(chan reply)
	go func() {
		r, err := s.try(m)
		if err != nil {
			t.Error(err)
		}
		answered <- r
	}()
	for { // until the read waits
		if i, err := s.sessions.Get(id); err == nil && i.Info().Readers == 1 {
			break
		}
		a.call("ptyctl_session", `{"action":"list"}`)
	}
	if r := a.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}`); r.status != 202 {
		t.Fatalf("cancellation: %d %s, want it accepted", r.status, r.text)
	}
	if r := <-answered; r.status != 202 || r.text != "" {
		t.Errorf("answer to a cancelled read = %d %s, want none", r.status, r.text)
	}
}
