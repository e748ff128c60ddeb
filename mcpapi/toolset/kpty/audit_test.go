package kpty

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"ptyctl/audit"
	"ptyctl/session"
	"ptyctl/term"
)

// The audit log names the caller of a call that is refused before its action is known.
func TestAuditRefused(t *testing.T) {
	var seen []term.Event
	var mu sync.Mutex
	c := setting{sessions: session.Config{Observers: []term.Observer{observer(func(e term.Event) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, e)
	})}}}
	c.options.ReadOnly = true
	a := newAgent(t, c)
	a.call(`{"action":"kill","session_id":"bash-none","agent_id":"worker-3","evidence_id":"ev-9"}`)
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != 1 || seen[0].Actor.Agent != "worker-3" || seen[0].Actor.Evidence != "ev-9" || seen[0].Refused == nil {
		t.Errorf("events after a refused kill = %+v, want one refusal by worker-3 with evidence ev-9", seen)
	}
}

type observer func(term.Event)

func (o observer) Observe(e term.Event) { o(e) }

// Each action on a session is an entry of the audit log with the agent and the evidence.
// Typed text must not appear in it.
func TestAuditLog(t *testing.T) {
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "audit.jsonl")
	log, err := audit.Open(audit.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	a := newAgent(t, setting{sessions: session.Config{Observers: []term.Observer{log}, Journal: log.Journal}})
	who := `"agent_id":"leader-1","evidence_id":"ev-42"`
	id := a.ok(`{"action":"spawn","shell":"/bin/sh",%s}`, rawJSON(who)).SessionID
	a.ok(`{"action":"run","session_id":%s,"command":"echo audited; (exit 3)",%s}`, id, rawJSON(who))
	a.ok(`{"action":"write","session_id":%s,"data":"typed-by-hand\u0015",%s}`, id, rawJSON(who))
	a.ok(`{"action":"write","session_id":%s,"data":"token-of-mine-1138\u0015","sensitive":true,%s}`, id, rawJSON(who))
	a.ok(`{"action":"talk","session_id":%s,"command":"echo said-in-talk","idle_ms":300,%s}`, id, rawJSON(who))
	a.ok(`{"action":"read","session_id":%s,"timeout_ms":0,%s}`, id, rawJSON(who))
	a.ok(`{"action":"read","session_id":%s,"timeout_ms":0}`, id)
	a.ok(`{"action":"resize","session_id":%s,"cols":80,"rows":24,%s}`, id, rawJSON(who))
	if r := a.call(`{"action":"kill","session_id":"bash-none",%s}`, rawJSON(who)); r.ErrorCode != SessionNotFound {
		t.Errorf("kill of an unknown session = %s, want error_code %s", r.text, SessionNotFound)
	}
	a.ok(`{"action":"kill","session_id":%s,%s}`, id, rawJSON(who))
	a.manager.Close(t.Context())
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := audit.Verify("", path); err != nil {
		t.Errorf("Verify(%s): %v", path, err)
	}

	p, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"typed-by-hand", "token-of-mine-1138", "said-in-talk"} {
		if strings.Contains(string(p), secret) {
			t.Errorf("the audit log holds %q, want no typed text", secret)
		}
	}
	var events []string
	for line := range strings.Lines(string(p)) {
		var n audit.Entry
		if err := json.Unmarshal([]byte(line), &n); err != nil {
			t.Fatal(err)
		}
		if n.Actor == nil || n.Intent || n.Event == "state" {
			continue
		}
		if n.Actor.Agent != "leader-1" || n.Actor.Evidence != "ev-42" || n.Actor.Client != "tester" ||
			n.Time.IsZero() || n.Outcome == "" || n.Session == "" {
			t.Errorf("entry = %s, want agent leader-1, evidence ev-42, client tester, a time, outcome and session", line)
		}
		events = append(events, n.Event)
		switch {
		case n.Event == "open" && n.Command != "/bin/sh", n.Event == "exec" && n.Command != "echo audited; (exit 3)",
			n.Event == "exec_end" && (n.Exit == nil || *n.Exit != 3 || n.Bytes != len("audited\n")),
			n.Event == "resize" && n.Detail != "80x24",
			n.Event == "close" && n.Session == "bash-none" && (!n.Refused || n.Outcome != "NOT_FOUND"):
			t.Errorf("entry of %s = %s, want its command, exit code or size", n.Event, line)
		}
	}
	// A talk is recorded as a write and a read.
	want := []string{
		"open", "exec", "exec_end", "write", "write", "write", "read", "read", "resize", "close", "close",
	}
	if !slices.Equal(events, want) {
		t.Errorf("events = %v, want %v", events, want)
	}
}
