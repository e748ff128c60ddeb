package calls

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"ptyctl/term"
)

// text is the entries of a session as JSON, without their times.
func text(t *testing.T, l *Log, id string) string {
	t.Helper()
	entries, _ := l.Since(id, 0)
	for i := range entries {
		entries[i].Time, entries[i].N = 0, 0
	}
	b, err := json.Marshal(entries)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var agent = term.Actor{Transport: "stdio", Client: "model"}

// by is the agent's call with a number.
func by(serial uint64) term.Actor {
	a := agent
	a.Serial = serial
	return a
}

// The entry of each kind of call has the facts that a person asks for, but only the size of typed text.
func TestEntries(t *testing.T) {
	exit := &term.Exit{Known: true, Code: 3}
	person := term.Actor{Transport: "socket", Operator: true, Task: "alice"}
	for name, test := range map[string]struct {
		events []term.Event
		result string
		want   string
	}{
		"a command": {
			[]term.Event{
				{Verb: term.VerbExec, Actor: by(7), Exec: "exec-1", Command: "deploy --token=abc", Detail: "channel"},
				{Verb: term.VerbExecEnd, Actor: by(7), Exec: "exec-1", State: "ended", Exit: exit, Duration: time.Second},
			},
			`{"stdout":"done\n","exit_code":3}`,
			`[{"n":0,"t":0,"verb":"exec","who":"model","command":"deploy --token=[redacted]","exec":"exec-1",` +
				`"detail":"channel","took":1000,"exit":3,` +
				`"result":[{"name":"stdout","text":"done\n"},{"name":"exit_code","text":"3"}]}]`,
		},
		"input in steps, and its output": {
			[]term.Event{
				{Verb: term.VerbWrite, Actor: by(7), Data: []byte("typed-text"), Size: 10},
				{Verb: term.VerbWrite, Actor: by(7), Data: []byte("\r"), Size: 1, Detail: "enter"},
				{Verb: term.VerbWrite, Actor: by(7), Size: 9, Sensitive: true},
				{Verb: term.VerbRead, Actor: by(7), Size: 99},
			},
			"plain",
			`[{"n":0,"t":0,"verb":"write","who":"model","typed":19,"keys":["enter"],"secret":true,` +
				`"result":[{"text":"plain"}]}]`,
		},
		"a refusal": {
			[]term.Event{
				{Verb: term.VerbOpen, Actor: agent},
				{Verb: term.VerbExec, Actor: by(7), Command: "rm", Refused: &term.Error{Kind: term.PolicyDenied}},
			},
			`{"error_code":"POLICY_DENIED"}`,
			`[{"n":0,"t":0,"verb":"open","who":"model"},{"n":0,"t":0,"verb":"exec","who":"model","command":"rm",` +
				`"error":"POLICY_DENIED","refused":true,"result":[{"name":"error_code","text":"POLICY_DENIED"}]}]`,
		},
		"a person's input in many calls": {
			[]term.Event{
				{Verb: term.VerbWrite, Actor: person, Data: []byte("l"), Size: 1},
				{Verb: term.VerbWrite, Actor: person, Data: []byte("s"), Size: 1},
				{Verb: term.VerbRead, Actor: person, Size: 5},
			},
			"",
			`[{"n":0,"t":0,"verb":"write","who":"alice","person":true,"typed":2}]`,
		},
		"what is no call": {
			[]term.Event{
				{Verb: term.VerbOutput, Data: []byte("x")},
				{Verb: term.VerbRead},
				{Verb: term.VerbHeartbeat, Actor: agent},
				{Verb: term.VerbWrite, Actor: agent, Refused: &term.Error{Kind: term.NotFound}},
			},
			"", "null",
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := New(Options{})
			for _, e := range test.events {
				e.Session = "s"
				l.Observe(e)
			}
			if test.result != "" {
				l.Answered(7, test.result, false)
			}
			if got := text(t, l, "s"); got != test.want {
				t.Errorf("the entries = %s\nwant %s", got, test.want)
			}
		})
	}
}

// However much happens, a session has its last 200 entries and a bounded size, and nothing once it is gone.
func TestBounds(t *testing.T) {
	l := New(Options{})
	long := strings.Repeat("x", 4<<10)
	for i := range uint64(3 * mostEntries) {
		l.Observe(term.Event{Session: "s", Verb: term.VerbExec, Actor: by(i + 1), Exec: fmt.Sprint(i), Command: long})
		l.Answered(i+1, fmt.Sprintf(`{"stdout":%q,"stderr":%q}`, long, long), false)
	}
	entries, next := l.Since("s", 0)
	total := 0
	for _, x := range entries {
		total += size(x.Result) + len(x.Command)
	}
	if len(entries) != mostEntries || total > mostResults+mostEntries*(4<<10) || len(l.open) != 0 {
		t.Errorf("after %d calls with long results: %d entries of %d bytes, %d open calls; want %d entries, a bounded size",
			3*mostEntries, len(entries), total, len(l.open), mostEntries)
	}
	if some, _ := l.Since("s", next); len(some) != 0 {
		t.Errorf("%d entries have changed since all were returned, want none", len(some))
	}
	l.Observe(term.Event{Session: "s", Verb: term.VerbGone})
	if entries, _ = l.Since("s", 0); len(entries) != 0 || len(l.sessions) != 0 {
		t.Errorf("a session that is gone has %d entries, want none", len(entries))
	}
}
