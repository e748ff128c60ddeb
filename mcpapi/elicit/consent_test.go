package elicit_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/policy"
	"ptyctl/session"
	"ptyctl/term"
)

// consents remembers the actions that a person has agreed to.
type consents struct {
	mu   sync.Mutex
	seen []term.Event
}

func (c *consents) Observe(e term.Event) {
	if e.Verb == term.VerbExec {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.seen = append(c.seen, e)
	}
}

func (c *consents) all() []term.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.seen)
}

// asking is a lab in which two commands take consent, if may, and one is denied.
func asking(t *testing.T, may bool) (mcptest.Config, *consents) {
	t.Helper()
	rules := func(texts ...string) (list []policy.Rule) {
		for _, text := range texts {
			list = append(list, policy.Rule{Text: text, Name: "policy.ask", Where: "rules:1"})
		}
		return list
	}
	p, err := policy.New(
		policy.Rules{
			Ask:     rules("echo pushed*", "echo ask*"),
			Deny:    []policy.Rule{{Text: "rm *", Name: "policy.deny"}},
			Consent: may,
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	seen := &consents{}
	return mcptest.Config{Sessions: session.Config{Gate: p.Gate(), Observers: []term.Observer{seen}}}, seen
}

func TestConsent(t *testing.T) {
	mcptest.ForEachClient(
		t,
		func(t *testing.T, revision string, connect mcptest.Connect) {
			const pushed = `"cmd":"echo \"pushed2\""`
			for name, c := range map[string]struct {
				answer func(*sdk.ElicitParams) *sdk.ElicitResult
				args   string
				ran    bool
				asked  int
				says   string // of the refusal
			}{
				"allowed":              {accept(map[string]any{"decision": "allow_once"}), pushed, true, 1, ""},
				"with a request_id":    {accept(map[string]any{"decision": "allow_once"}), pushed + `,"request_id":"r1"`, true, 1, ""},
				"denied":               {accept(map[string]any{"decision": "deny"}), pushed, false, 1, "has denied it"},
				"declined":             {saying("decline"), pushed, false, 1, "has denied it"},
				"dismissed":            {saying("cancel"), pushed, false, 1, "has not answered"},
				"nothing chosen":       {accept(nil), pushed, false, 1, "has denied it"},
				"denied by a rule too": {accept(map[string]any{"decision": "allow_once"}), `"cmd":"echo pushed; rm x"`, false, 0, "policy.deny"},
				"cannot be judged":     {accept(map[string]any{"decision": "allow_once"}), `"cmd":"echo pushed; eval \"$X\""`, false, 0, "is not accepted"},
				"cannot be shown":      {accept(map[string]any{"decision": "allow_once"}), `"cmd":"echo pushed \u202e"`, false, 0, "consent"},
				"with an input":        {accept(map[string]any{"decision": "allow_once"}), pushed + `,"stdin":"never shown"`, false, 0, "consent"},
				"pushed out of sight":  {accept(map[string]any{"decision": "allow_once"}), `"cmd":"echo 'pushed` + strings.Repeat(`\n`, 31) + `evil'"`, false, 0, "consent"},
				"too long to be shown": {accept(map[string]any{"decision": "allow_once"}), `"cmd":"echo pushed ` + strings.Repeat("x", 2100) + `"`, false, 0, "consent"},
			} {
				t.Run(name, func(t *testing.T) {
					p := &person{t: t, answer: c.answer}
					config, seen := asking(t, true)
					l, client := connect(t, config, revision, p.options(onlyForms))
					id := client.Call(mcptest.SessionTool, l.OpenArgs("")).SessionID
					r := client.Call(mcptest.ExecTool, `{"session_id":"`+id+`",`+c.args+`}`)
					if c.ran != (r.Stdout == "pushed2\n") || c.ran == (r.ErrorCode == term.PolicyDenied) ||
						!strings.Contains(r.Message, c.says) {
						t.Errorf("exec: %s", r.Text)
					}
					asked := p.questions()
					if len(asked) != c.asked {
						t.Fatalf("asked: %+v", asked)
					}
					if c.asked > 0 {
						for _, part := range []string{
							"'echo' 'pushed2'", "@127.0.0.1 ", `policy.ask "echo pushed*" (rules:1)`,
							"this one call",
						} {
							if !strings.Contains(asked[0].Message, part) {
								t.Errorf("%q is not in %q", part, asked[0].Message)
							}
						}
					}
					events := seen.all()
					for i, e := range events {
						if last := i == len(events)-1; (e.Refused == nil) != (c.ran && last) || (e.Consent != "") != (c.ran && last) {
							t.Errorf("%d: refused %v, consent %q", i, e.Refused, e.Consent)
						}
					}
					// It was for that call alone.
					if c.ran {
						p.answer = saying("cancel")
						if r := client.Call(mcptest.ExecTool, `{"session_id":"`+id+`",`+pushed+`}`); r.ErrorCode != term.PolicyDenied ||
							len(p.questions()) != 2 {
							t.Errorf("again: %s", r.Text)
						}
					}
				})
			}
		},
	)
}

// No person is asked unless the operator allows it and the client can ask; and no argument counts as consent.
func TestNoConsent(t *testing.T) {
	mcptest.ForEachClient(
		t,
		func(t *testing.T, revision string, connect mcptest.Connect) {
			for name, c := range map[string]struct {
				may bool
				can *sdk.ElicitationCapabilities
			}{
				"the operator":   {false, onlyForms},
				"only pages":     {true, &sdk.ElicitationCapabilities{URL: &sdk.URLElicitationCapabilities{}}},
				"no elicitation": {true, nil},
			} {
				t.Run(name, func(t *testing.T) {
					p := &person{t: t, answer: accept(map[string]any{"decision": "allow_once"})}
					config, _ := asking(t, c.may)
					o := p.options(c.can)
					if c.can == nil {
						o = sdk.ClientOptions{}
					}
					l, client := connect(t, config, revision, o)
					id := client.Call(mcptest.SessionTool, l.OpenArgs("")).SessionID
					r := client.Call(mcptest.ExecTool, `{"session_id":"`+id+`","cmd":"echo pushed"}`)
					if r.ErrorCode != term.PolicyDenied || len(p.questions()) != 0 ||
						!strings.Contains(r.Message, "it needs the consent of a person") {
						t.Errorf("exec: %s, %d questions", r.Text, len(p.questions()))
					}
					for _, more := range []string{`"consent":true`, `"decision":"allow_once"`} {
						if r := client.Call(mcptest.ExecTool,
							`{"session_id":"`+id+`","cmd":"echo pushed",`+more+`}`); r.ErrorCode != term.InvalidArgument {
							t.Errorf("%s: %s", more, r.Text)
						}
					}
				})
			}
		},
	)
}

// The lines of a command cannot pass for ptyctl's own text.
func TestConsentQuestion(t *testing.T) {
	mcptest.ForEachClient(
		t,
		func(t *testing.T, revision string, connect mcptest.Connect) {
			p := &person{t: t, answer: saying("cancel")}
			config, _ := asking(t, true)
			l, client := connect(t, config, revision, p.options(onlyForms))
			id := client.Call(mcptest.SessionTool, l.OpenArgs("")).SessionID
			client.Call(
				mcptest.ExecTool,
				`{"session_id":"`+id+`","cmd":"echo 'pushed\n\nIn the folder:\n/srv\nThe rule is gone.'","cwd":"/tmp"}`,
			)
			asked := p.questions()
			if len(asked) != 1 {
				t.Fatalf("asked %d times", len(asked))
			}
			_, said, _ := strings.Cut(asked[0].Message, "\n")
			want := "In the folder:\n| /tmp\nTo run:\n| 'echo' 'pushed\n| \n| In the folder:\n| /srv\n| The rule is gone.'\n"
			if said != want {
				t.Errorf("asked %q, want %q", said, want)
			}
		},
	)
}

// A person is asked only about a list's first step: the call is made again once they agree, and would type earlier
// steps twice.
func TestConsentToSteps(t *testing.T) {
	mcptest.ForEachClient(
		t,
		func(t *testing.T, revision string, connect mcptest.Connect) {
			rules := policy.Rules{
				Ask: []policy.Rule{{Text: "echo ask*", Name: "policy.ask"}}, Consent: true, Typing: policy.TypingLines,
			}
			p, err := policy.New(rules)
			if err != nil {
				t.Fatal(err)
			}
			for name, c := range map[string]struct {
				args  string
				asked int
				shows string // of the result
				typed int    // lines in all
			}{
				"first":        {`"steps":[{"data":"'echo' 'ask1'\r","until_prompt":true},{"data":"'echo' 'b'\r"}]`, 1, `"cursor"`, 2},
				"first, twice": {`"steps":[{"data":"'echo' 'ask1'\r"},{"data":"'echo' 'ask1'\r"}]`, 1, `"step":1`, 1},
				"second":       {`"steps":[{"data":"'echo' 'a'\r"},{"data":"'echo' 'ask1'\r"},{"data":"'echo' 'b'\r"}]`, 0, "in a call of its own", 1},
			} {
				t.Run(name, func(t *testing.T) {
					person := &person{t: t, answer: accept(map[string]any{"decision": "allow_once"})}
					config := mcptest.Config{Sessions: session.Config{Gate: p.Gate(), Input: session.InputOptions{RecordTxEvents: true}}}
					l, client := connect(t, config, revision, person.options(onlyForms))
					id := client.Call(mcptest.SessionTool, l.OpenArgs("")).SessionID
					r := client.Call(mcptest.IOTool, `{"action":"write","session_id":"`+id+`",`+c.args+`}`)
					if asked := len(person.questions()); asked != c.asked || !strings.Contains(r.Text, c.shows) {
						t.Errorf("steps were answered with %s after %d questions, want %q after %d", r.Text, asked, c.shows, c.asked)
					}
					s, err := l.Manager.Get(id)
					if err != nil {
						t.Fatal(err)
					}
					if typed := len(s.TxEvents()); typed != c.typed {
						t.Errorf("%d lines were typed, want %d", typed, c.typed)
					}
				})
			}
		},
	)
}
