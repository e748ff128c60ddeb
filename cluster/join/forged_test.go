package join

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/cluster/proof"
	"ptyctl/term"
)

// TestForgedSession: a node has the right to write the entry of another node's session. If it forges the entry, or the
// claim of another node to go on with the session, the session is not reopened.
func TestForgedSession(t *testing.T) {
	accounts := natstest.NewAccounts(t)
	url := natstest.StartWith(t, 1, accounts.Lines)[0].URL
	join := func(name string) *memory {
		t.Helper()
		file := accounts.Credentials(t, []string{
			"$JS.API.>", "$KV.test-sessions.>", "$KV.test-nodes.node." + name, "test.v1.cancel.*", "_INBOX.>",
		}, []string{"_INBOX." + name + ".>"})
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := proof.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		return rememberAs(t, url, name, p, nats.UserCredentials(file), nats.CustomInboxPrefix("_INBOX."+name+".x"))
	}
	a, b, evil := join("a"), join("b"), join("evil")
	const id = "web1-k3f9q2zd@a"
	put := func(m *memory, v *stored) {
		t.Helper()
		if _, err := m.bucket.Put(t.Context(), m.message(id, v, 0)); err != nil {
			t.Fatal(err)
		}
	}
	good := func() *stored {
		t.Helper()
		v, err := a.keeps(id, keptAs(id, "web1"), time.Minute, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for what, forge := range map[string]func(v *stored){
		"another host":                 func(v *stored) { v.Session = keptAs(id, "elsewhere") },
		"no proof":                     func(v *stored) { v.Session, v.Proof = keptAs(id, "elsewhere"), nil },
		"another time":                 func(v *stored) { v.At++ },
		"more time":                    func(v *stored) { v.TTL++ },
		"another node's proof":         func(v *stored) { *v = *must(t, evil, id, keptAs(id, "elsewhere"), time.Now()) },
		"one that was to end before":   func(v *stored) { *v = *must(t, a, id, keptAs(id, "web1"), time.Now().Add(-time.Hour)) },
		"the proof of another session": func(v *stored) { v.Proof = must(t, a, "web1-aaaaaaaa@a", v.Session, time.Now()).Proof },
		"a claim without proof":        func(v *stored) { v.Again = "web1-mine@b" },
		"a claim of another node": func(v *stored) {
			if err := evil.claim(id, "web1-mine@b", v); err != nil {
				t.Error(err)
			}
		},
	} {
		v := good()
		forge(v)
		put(evil, v)
		_, err := b.Find(t.Context(), id)
		_, _, claim := b.Claim(t.Context(), id, "web1-new@b")
		for call, err := range map[string]error{"Find": err, "Claim": claim} {
			if term.KindOf(err) != term.IOError || !strings.Contains(err.Error(), "may be another node's words") {
				t.Errorf("%s: %s = %v, want that it is not believed", what, call, err)
			}
		}
	}
	put(a, good())
	if k, err := b.Find(t.Context(), id); err != nil || k.Target.Host != "web1" {
		t.Errorf("Find of what a has written = %+v, %v", k, err)
	}
	if _, _, err := b.Claim(t.Context(), id, "web1-new@b"); err != nil {
		t.Fatal(err)
	}
	if taken, _, err := join("c").Claim(t.Context(), id, "web1-other@c"); err != nil || taken != "web1-new@b" {
		t.Errorf("Claim at c = %q, %v; want web1-new@b", taken, err)
	}
}

// must returns the value of a key as a node writes it.
func must(tb testing.TB, m *memory, id string, session []byte, at time.Time) *stored {
	tb.Helper()
	v, err := m.keeps(id, session, time.Minute, at)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}
