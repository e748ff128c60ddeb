package mcpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"ptyctl/mcpapi"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/mcpapi/peers"
	"ptyctl/mcpapi/verdict"
	"ptyctl/session"
	"ptyctl/term"
)

// owner is the other node of a test. It gets each call and its client.
type owner func(ctx context.Context, call peers.Call, c peers.Client) error

func (owner) Node() string                                      { return "a" }
func (owner) Others() []string                                  { return []string{"b"} }
func (owner) Place(context.Context, peers.Need) (string, error) { return "a", nil }

func (o owner) Forward(ctx context.Context, _ string, call peers.Call, c peers.Client) (json.RawMessage, error) {
	if err := o(ctx, call, c); err != nil {
		return nil, err
	}
	return json.RawMessage(`{"content":[{"type":"text","text":"{}"}]}`), nil
}

// TestAskedByAnOwner: the actor in a node's question about a call is always the client of that call. An invalid
// question is refused without harm.
func TestAskedByAnOwner(t *testing.T) {
	var judged []term.Action
	var asked func(peers.Client) error
	_, srv := mcptest.NewServer(t, mcptest.Config{Options: mcpapi.Options{Cluster: mcpapi.ClusterOptions{
		Peers: owner(func(_ context.Context, call peers.Call, c peers.Client) error {
			if call.Rules != "digest" {
				t.Errorf("the call has the rules %q", call.Rules)
			}
			return asked(c)
		}),
		Rules: func() string { return "digest" },
		Judge: func(_ context.Context, a term.Action) (term.Ruling, error) {
			judged = append(judged, a)
			switch a.Command {
			case "deny":
				return term.Ruling{}, term.Errorf(term.PolicyDenied, "no")
			case "cat":
				a.FarSide(t.Context())
			}
			return term.Ruling{Command: "printed"}, nil
		},
	}}})
	ask := func(c peers.Client, method, question string) (string, error) {
		answer, err := c.Ask(t.Context(), method, json.RawMessage(question))
		return string(answer), err
	}
	asked = func(c peers.Client) error {
		for question, want := range map[string]string{
			`{"verb":"exec","command":"ls","actor":{"token":"root","operator":true},"Actor":{"Token":"root"}}`: `{"command":"printed"}`,
			`{"verb":"exec","command":"deny"}`:                             `{"denied":{"kind":"POLICY_DENIED","msg":"no"}}`,
			`{"verb":"exec","command":"cat","reads":true}`:                 `{"shell":true}`,
			`{"verb":"exec","command":"cat","reads":true,"shell":"posix"}`: `{"command":"printed"}`,
		} {
			if got, err := ask(c, peers.MethodJudge, question); got != want || err != nil {
				t.Errorf("%s = %s, %v; want %s", question, got, err, want)
			}
		}
		n := len(judged)
		for name, q := range map[string][2]string{
			"other method": {"ptyctl/run", `{"verb":"exec"}`},
			"no verb":      {peers.MethodJudge, `{}`},
			"no JSON":      {peers.MethodJudge, `{`},
			"giant":        {peers.MethodJudge, `{"verb":"exec","command":"` + strings.Repeat("x", verdict.MaxBytes) + `"}`},
		} {
			if got, err := ask(c, q[0], q[1]); err == nil {
				t.Errorf("%s = %s, want an error", name, got)
			}
		}
		if len(judged) != n {
			t.Errorf("what is no question was judged: %+v", judged[n:])
		}
		return nil
	}
	caller := identity.Caller{Transport: "http", Token: "ops"}
	agent, _ := mcptest.Connected(t, identity.WithCaller(t.Context(), caller), srv, "tester", "")
	agent.OK(mcptest.ExecTool, `{"session_id":"x-aaaaaaaa@b","cmd":"ls","task_id":"t1"}`)
	if len(judged) != 4 {
		t.Errorf("%d actions were judged, want 4", len(judged))
	}
	for _, a := range judged {
		if by := a.Actor; by.Token != "ops" || by.Transport != "http" || by.Task != "t1" || by.Operator || by.Client != "tester" {
			t.Errorf("the actor is %+v, want the client of the call", by)
		}
	}
}

// served is the client of a call that this node answers for another.
type served func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)

func (served) Notify(string, json.RawMessage) {}

func (s served) Ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	return s(ctx, method, params)
}

// TestAsksTheEntry: the gate of the node that acts can ask about an action only while the call lasts. An invalid or
// missing answer denies the action.
func TestAsksTheEntry(t *testing.T) {
	var late term.Gate
	l, srv := mcptest.NewServer(t, mcptest.Config{
		Options: mcpapi.Options{Cluster: mcpapi.ClusterOptions{Peers: owner(nil)}},
		Sessions: session.Config{Gate: func(ctx context.Context, a term.Action) (term.Ruling, error) {
			late = term.EntryGateFrom(ctx)
			if a.Verb != term.VerbExec || late == nil {
				return term.Ruling{}, nil
			}
			if by := a.Actor; by.Rules != "digest" || by.Node != "c" {
				t.Errorf("the actor is %+v, want the rules of node c", by)
			}
			return late(ctx, a)
		}},
	})
	l.Agent = mcptest.NewAgent(t, srv, "")
	l.OpenShell()
	call := func(answer func(question string) (string, error)) string {
		t.Helper()
		raw, err := srv.ServePeer(t.Context(), peers.Call{
			Tool: mcptest.ExecTool, Arguments: json.RawMessage(`{"session_id":"` + l.Session + `","cmd":"echo one"}`), Rules: "digest",
			Caller: peers.Caller{Transport: "http", Node: "c"},
		}, served(func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			if method != peers.MethodJudge {
				t.Errorf("the method is %s", method)
			}
			text, err := answer(string(params))
			return json.RawMessage(text), err
		}))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	classes := 0
	for name, c := range map[string]struct {
		answer string
		err    error
		want   string
	}{
		"allowed":       {`{}`, nil, "one"},
		"another form":  {`{"command":"echo two"}`, nil, "two"},
		"denied":        {`{"denied":{"kind":"POLICY_DENIED","msg":"not so","rule":"policy.deny"}}`, nil, "by the rules of node c"},
		"no answer":     {"", errors.New("gone"), "could not be asked about it (gone)"},
		"no JSON":       {"x", nil, "could not be asked about it"},
		"never content": {`{"shell":true}`, nil, "asks for what it was told"},
	} {
		if got := call(func(question string) (string, error) {
			if strings.Contains(question, `"shell":"posix"`) {
				classes++
			}
			return c.answer, c.err
		}); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if classes != 1 {
		t.Errorf("the class of the shell was sent %d times, want once, when it was asked for", classes)
	}
	if _, err := late(t.Context(), term.Action{Verb: term.VerbExec}); term.KindOf(err) != term.PolicyDenied ||
		!strings.Contains(err.Error(), "only while the call lasts") {
		t.Errorf("a question after the call = %v", err)
	}
	long := peers.Call{Tool: mcptest.ExecTool, Rules: strings.Repeat("a", 65), Caller: peers.Caller{Node: "c"}}
	if _, err := srv.ServePeer(t.Context(), long, served(nil)); term.KindOf(err) != term.InvalidArgument {
		t.Errorf("a digest of 65 bytes = %v", err)
	}
}
