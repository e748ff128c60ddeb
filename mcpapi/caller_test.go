package mcpapi_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"ptyctl/mcpapi"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/tools"
	"ptyctl/session"
	"ptyctl/term"
)

// In a read-only server, actions that read work, and all others are refused.
func TestReadOnlyServer(t *testing.T) {
	seen := new(mcptest.Diary)
	l := mcptest.NewLab(
		t,
		mcptest.Config{
			Sessions: session.Config{Observers: []term.Observer{seen}},
			Options:  mcpapi.Options{ReadOnly: true, Results: identity.Full},
		},
	)
	for _, tool := range tools.All() {
		for _, a := range tool.Actions {
			args := `{}`
			if a.Name != "" {
				args = fmt.Sprintf(`{"action":%q}`, a.Name)
			}
			r := l.Call(tool.Name, args)
			if a.Only == schema.Operators || a.Mark != "" { // which is not known to others, or here
				continue
			}
			if denied := r.ErrorCode == term.PolicyDenied; denied == a.Reads {
				t.Errorf("%s %s: %s", tool.Name, a.Name, r.Text)
			}
		}
	}
	l.Fails(
		mcptest.SessionTool,
		l.OpenArgs(""),
		term.PolicyDenied,
		"ptyctl_session open is refused",
		"this server is read-only",
	)
	l.Fails(mcptest.ExecTool, `{"session_id":"x","cmd":"true"}`, term.PolicyDenied, "ptyctl_session_exec is refused")
	l.OK(mcptest.SessionTool, `{"action":"list"}`)
	last := seen.Take()
	for _, e := range last {
		if e.Verb == "" {
			t.Errorf("the record does not say what was refused: %+v", e)
		}
	}
	if e := last[len(last)-1]; e.Verb != term.VerbExec || e.Session != "x" || term.KindOf(e.Refused) != term.PolicyDenied {
		t.Errorf("the record of the last is %+v", e)
	}

	var list struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(l.Request("tools/list", `{}`).Result, &list); err != nil || len(list.Tools) != 4 {
		t.Errorf("%+v, %v", list, err)
	}
}

// Two hundred calls in flight on stdio: one that waits does not hold up the others.
func TestManyCallsInFlight(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.OpenShell()
	s, err := l.Manager.Get(l.Session)
	if err != nil {
		t.Fatal(err)
	}
	_, slow := l.Start(
		"tools/call",
		l.Params(mcptest.IOTool, `{"action":"read","session_id":"$S","until_regex":"released","timeout_ms":30000}`),
	)
	for s.Info().Readers == 0 {
		runtime.Gosched()
	}
	others := make([]<-chan mcptest.Answer, 199)
	for i := range others {
		_, others[i] = l.Start("tools/call", l.Params(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`))
	}
	for _, answer := range others {
		if r := l.Read((<-answer).Result); r.IsError {
			t.Errorf("status: %s", r.Text)
		}
	}
	select {
	case got := <-slow:
		t.Fatalf("the read has ended before the others were done: %s", got.Result)
	default:
	}
	l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"echo rel''eased\r"}`)
	if r := l.Read((<-slow).Result); !r.Matched {
		t.Errorf("the read was not woken: %s", r.Text)
	}
}
