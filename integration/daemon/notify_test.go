package daemon

import (
	"context"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ptyctl/internal/lab"
)

const (
	listOf  = "ptyctl://sessions"
	listNew = "resources/list_changed"
)

// A follower is a client that follows the list of sessions.
type follower struct {
	*lab.Client
	name string      // as people call it
	told chan string // the notifications: listNew, or the URI that has changed
}

var shimName = regexp.MustCompile(`"client": "(shim-[a-z0-9]+)"`)

// follow starts a client that follows the list.
func follow(t *testing.T, h *lab.Home) follower {
	t.Helper()
	f := follower{told: make(chan string, 100)}
	f.Client = h.Start(t, "--daemon").ShakeHands(t, &mcp.ClientOptions{
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { f.told <- listNew },
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			f.told <- r.Params.URI
		},
	})
	f.Log.Wait(t, `"client": "shim-`)
	f.name = shimName.FindStringSubmatch(f.Log.String())[1]
	f.listed(t, "")
	f.subscribe(t, listOf, func() { f.Call(t, lab.ToolRun, `{"argv":["true"]}`) })
	return f
}

// subscribe returns when the client is subscribed, as changes of its own show: the answer may come before that.
func (f follower) subscribe(t *testing.T, uri string, change func()) {
	t.Helper()
	if err := f.Session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
		t.Fatal(err)
	}
	lab.Eventually(t, "a notification of "+uri, func() bool {
		change()
		return slices.Contains(f.hears(), uri)
	})
	f.hears()
}

// hears returns the notifications. It stops after a silence longer than the time in which changes are gathered.
func (f follower) hears() (all []string) {
	for {
		select {
		case got := <-f.told:
			all = append(all, got)
		case <-time.After(1200 * time.Millisecond):
			return all
		}
	}
}

// isTold waits until each of the notifications has come, and returns the others that came meanwhile.
func (f follower) isTold(t *testing.T, why string, want ...string) (others []string) {
	t.Helper()
	missing := make(map[string]bool)
	for _, w := range want {
		missing[w] = true
	}
	deadline := time.After(lab.Patience)
	for len(missing) > 0 {
		select {
		case got := <-f.told:
			if !missing[got] {
				others = append(others, got)
			}
			delete(missing, got)
		case <-deadline:
			t.Fatalf("%s: client %s is told nothing of %v, only of %q", why, f.name, missing, others)
		}
	}
	return others
}

// listed reports whether the client's resources have one with this URI.
func (f follower) listed(t *testing.T, uri string) bool {
	t.Helper()
	r, err := f.Session.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, one := range r.Resources {
		found = found || one.URI == uri
	}
	return found
}

// When a session passes from one client to another, each client that follows the list is notified: the one that could
// adopt it, the one that has adopted it, the one that a person has given it to, and the one that has lost it so.
func TestOwnerNotified(t *testing.T) {
	h := newHome(t, lab.ReadWrite)
	gone := h.Converse(t, "--daemon")
	id := gone.NextResult(gone.Ask(lab.ToolSession, openBash)).SessionID
	status := listOf + "/" + id
	one, two := follow(t, h), follow(t, h)
	has := func(what string, owner, other follower) {
		t.Helper()
		if a, b := owner.listed(t, status), other.listed(t, status); !a || b {
			t.Errorf("%s: its owner's resources have the session: %t, the other's: %t; want true and false", what, a, b)
		}
	}
	gone.Kill()
	one.isTold(t, "a session can be adopted", listOf)
	two.isTold(t, "a session can be adopted", listOf)

	one.Call(t, lab.ToolSession, `{"action":"adopt","session_id":%s}`, id)
	one.isTold(t, "it has adopted a session", listNew, listOf)
	two.isTold(t, "another has adopted the session", listOf)
	has("after adopt", one, two)

	cols := 100
	one.subscribe(t, status, func() {
		cols++
		one.Call(t, lab.ToolConfig, `{"action":"resize","session_id":%s,"cols":%s,"rows":30}`, id, cols)
	})
	if out, said, code := h.Run(t, "sessions", "give", "--config", h.Config, id, two.name); code != 0 {
		t.Fatalf("sessions give: status %d, %s%s", code, out, said)
	}
	two.isTold(t, "a person has given it a session", listNew, listOf)
	one.isTold(t, "a person has taken its session away", listNew, listOf, status)
	has("after give", two, one)

	// A client gets no more notifications about a session of another client.
	two.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"exit\r"}`, id)
	for _, uri := range two.isTold(t, "its session has ended", listOf) {
		if uri != listNew {
			t.Errorf("client %s is told of %s, which it has not subscribed to", two.name, uri)
		}
	}
	if got := one.hears(); len(got) > 0 {
		t.Errorf("the client that had the session is told of %q, want nothing: it is another's", got)
	}
}
