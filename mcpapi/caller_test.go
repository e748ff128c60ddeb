package mcpapi

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"ptyctl/session"
	"ptyctl/term"
)

// Every action has its place: what reads works in a read-only server, and what does not is refused.
func TestReadOnlyServer(t *testing.T) {
	seen := new(diary)
	l := newLab(t, labConfig{sessions: session.Config{Observers: []term.Observer{seen}}, options: Options{ReadOnly: true, Structured: true}})
	for _, tool := range tools() {
		for _, a := range tool.actions {
			args := `{}`
			if a.name != "" {
				args = fmt.Sprintf(`{"action":%q}`, a.name)
			}
			r := l.call(tool.name, args)
			if denied := r.ErrorCode == term.PolicyDenied; denied == a.reads {
				t.Errorf("%s %s: %s", tool.name, a.name, r.text)
			}
		}
	}
	l.fails(sessionTool.name, l.openArgs(""), term.PolicyDenied, "ptyctl_session open is refused", "this server is read-only")
	l.fails(execTool.name, `{"session_id":"x","cmd":"true"}`, term.PolicyDenied, "ptyctl_session_exec is refused")
	l.ok(sessionTool.name, `{"action":"list"}`)
	last := seen.take()
	if e := last[len(last)-1]; e.Verb != term.VerbExec || e.Session != "x" || term.KindOf(e.Refused) != term.PolicyDenied {
		t.Errorf("the record of the last is %+v", e)
	}

	var list struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(l.request("tools/list", `{}`).Result, &list); err != nil || len(list.Tools) != 4 {
		t.Errorf("%+v, %v", list, err)
	}
}

// A tool that may be read has a description of its own for that, with nothing of what it does otherwise.
func TestForReading(t *testing.T) {
	for _, tool := range tools() {
		r := tool.forReading()
		if (r != nil) != (tool.reading != "") {
			t.Errorf("%s: reading %q, but its actions say otherwise", tool.name, tool.reading)
		}
		if r == nil {
			continue
		}
		if len(r.description()) >= len(tool.description()) {
			t.Errorf("%s: the description did not get shorter", tool.name)
		}
		for _, f := range r.fields {
			if f.name == "task_id" || strings.Contains(f.about, "[write]") || strings.Contains(f.about, "[open]") {
				t.Errorf("%s still takes %s: %s", tool.name, f.name, f.about)
			}
		}
		for _, a := range r.actions {
			if got, want := r.fieldsOf(a.name), tool.fieldsOf(a.name); !slices.Equal(got, want) {
				t.Errorf("%s %s takes %v, want %v", tool.name, a.name, got, want)
			}
		}
	}
}

func TestToolsets(t *testing.T) {
	if got := Toolsets(); !slices.Contains(got, "core") {
		t.Errorf("the sets are %v", got)
	}
	names := func(list []*tool) (names []string) {
		for _, t := range list {
			names = append(names, t.name)
		}
		return names
	}
	want := []string{"ptyctl_session", "ptyctl_session_exec", "ptyctl_session_io", "ptyctl_session_config"}
	if got := names(toolsOf([]string{"core"})); !slices.Equal(got, want) {
		t.Errorf("core has %v, want %v", got, want)
	}
	if got := names(toolsOf([]string{"none"})); len(got) > 0 {
		t.Errorf("a set that is none has %v", got)
	}
	var together []string
	for _, name := range Toolsets() {
		together = append(together, names(toolsOf([]string{name}))...)
	}
	if got := names(toolsOf(nil)); !slices.Equal(got, together) {
		t.Errorf("all tools are %v, those of the sets %v", got, together)
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
	_, slow := l.start("tools/call", l.params(ioTool.name, `{"action":"read","session_id":"$S","until_regex":"released","timeout_ms":30000}`))
	for s.Info().Readers == 0 {
		runtime.Gosched()
	}
	others := make([]<-chan agentAnswer, 199)
	for i := range others {
		_, others[i] = l.start("tools/call", l.params(sessionTool.name, `{"action":"status","session_id":"$S"}`))
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
	l.ok(ioTool.name, `{"action":"write","session_id":"$S","data":"echo rel''eased\r"}`)
	if r := l.read((<-slow).Result); !r.Matched {
		t.Errorf("the read was not woken: %s", r.text)
	}
}
