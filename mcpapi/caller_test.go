package mcpapi

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"ptyctl/session"
	"ptyctl/term"
)

// Every action has its place: what reads works in a read-only server, and what does not is refused.
func TestReadOnlyServer(t *testing.T) {
	seen := new(diary)
	l := newLab(
		t,
		labConfig{
			sessions: session.Config{Observers: []term.Observer{seen}},
			options:  Options{ReadOnly: true, Structured: true},
		},
	)
	for _, tool := range tools() {
		for _, a := range tool.Actions {
			args := `{}`
			if a.Name != "" {
				args = fmt.Sprintf(`{"action":%q}`, a.Name)
			}
			r := l.call(tool.Name, args)
			if denied := r.ErrorCode == term.PolicyDenied; denied == a.Reads {
				t.Errorf("%s %s: %s", tool.Name, a.Name, r.text)
			}
		}
	}
	l.fails(
		sessionName,
		l.openArgs(""),
		term.PolicyDenied,
		"ptyctl_session open is refused",
		"this server is read-only",
	)
	l.fails(execName, `{"session_id":"x","cmd":"true"}`, term.PolicyDenied, "ptyctl_session_exec is refused")
	l.ok(sessionName, `{"action":"list"}`)
	last := seen.take()
	for _, e := range last {
		if e.Verb == "" {
			t.Errorf("the record does not say what was refused: %+v", e)
		}
	}
	if e := last[len(last)-1]; e.Verb != term.VerbExec || e.Session != "x" || term.KindOf(e.Refused) != term.PolicyDenied {
		t.Errorf("the record of the last is %+v", e)
	}

	var list struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(l.request("tools/list", `{}`).Result, &list); err != nil || len(list.Tools) != 4 {
		t.Errorf("%+v, %v", list, err)
	}
}

// Two hundred calls in flight on stdio: one that waits does not hold up the others.
func TestManyCallsInFlight(t *testing.T) {
	l := newLab(t, labConfig{})
	l.openShell()
	s, err := l.manager.Get(l.session)
	if err != nil {
		t.Fatal(err)
	}
	_, slow := l.start(
		"tools/call",
		l.params(ioName, `{"action":"read","session_id":"$S","until_regex":"released","timeout_ms":30000}`),
	)
	for s.Info().Readers == 0 {
		runtime.Gosched()
	}
	others := make([]<-chan agentAnswer, 199)
	for i := range others {
		_, others[i] = l.start("tools/call", l.params(sessionName, `{"action":"status","session_id":"$S"}`))
	}
	for _, answer := range others {
		if r := l.read((<-answer).Result); r.isError {
			t.Errorf("status: %s", r.text)
		}
	}
	select {
	case got := <-slow:
		t.Fatalf("the read has ended before the others were done: %s", got.Result)
	default:
	}
	l.ok(ioName, `{"action":"write","session_id":"$S","data":"echo rel''eased\r"}`)
	if r := l.read((<-slow).Result); !r.Matched {
		t.Errorf("the read was not woken: %s", r.text)
	}
}
