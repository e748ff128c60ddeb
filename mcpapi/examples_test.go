package mcpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"ptyctl/mcpapi"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/tools"
	"ptyctl/mcpapi/toolset"
	"ptyctl/ptyx"
	"ptyctl/secret"
	"ptyctl/session"
	"ptyctl/session/forward"
	"ptyctl/term"
)

// An exampled is the example of an error about one argument.
type exampled struct{ tool, action, path, example string }

// examples returns the examples of all arguments of the core tools.
func examples(t *testing.T) (list []exampled) {
	for _, listed := range tools.All() {
		tool := tools.Part(listed.Tool, func(string) bool { return false })
		for _, a := range tool.Actions {
			var visit func(prefix string, fields []schema.Field)
			visit = func(prefix string, fields []schema.Field) {
				for i := range fields {
					f := &fields[i]
					if prefix == "" && !f.Takes(a.Name) {
						continue
					}
					err := tool.Checker(a.Name).Invalid(prefix+f.Name, nil, "wrong")
					list = append(list, exampled{tool.Name, a.Name, prefix + f.Name, term.FactOf[term.ArgumentFault](err).Example})
					below := prefix + f.Name + "."
					if f.Kind == schema.KindObjects {
						below = prefix + f.Name + "[3]."
					}
					visit(below, f.Fields)
				}
			}
			visit("", tool.Fields)
		}
	}
	if len(list) < 200 {
		t.Fatalf("there are %d arguments, want all", len(list))
	}
	return list
}

// gives reports whether the JSON at has the argument at path.
func gives(at any, path string) bool {
	name, rest, deeper := strings.Cut(path, ".")
	name, _, element := strings.Cut(name, "[")
	object, _ := at.(map[string]any)
	value, ok := object[name]
	list, isList := value.([]any)
	switch {
	case !ok || element && len(list) == 0:
		return false
	case !deeper:
		return true
	case element:
		return gives(list[0], rest)
	case isList: // of NAME=value
		return len(list) > 0 && strings.HasPrefix(fmt.Sprint(list[0]), rest+"=")
	}
	return gives(value, rest)
}

// An error about an argument shows a correct call of its action that gives this argument.
func TestExamplesGiveTheArgument(t *testing.T) {
	dial := func(ctx context.Context, to term.Target, p term.Prompter, approve term.Approve) (term.Transport, error) {
		if to.Host != "lab" {
			return nil, &term.Error{Kind: term.ConnectFailed, Msg: "nothing is connected here"}
		}
		to.Local = term.LocalOptions{Argv: []string{"cat"}, Dir: os.TempDir()}
		return ptyx.Host{}.Open(ctx, to, p, approve)
	}
	c := mcptest.Config{Sessions: session.Config{Dialers: map[string]term.Dialer{"ssh": dial, "telnet": dial, "local": dial}}}
	c.Sessions.Forward = &forward.Options{TCP: true}
	c.Sessions.FarFiles = mcptest.WithFiles.FarFiles
	c.Options = mcpapi.Options{
		Local: []string{"stdio"}, Limits: toolset.Limits{ReadTimeout: 400 * time.Millisecond, MaxWait: time.Second},
		Plan:    func(context.Context, term.Target) (term.Plan, error) { return term.Plan{}, nil },
		Secrets: new(secret.Store),
	}
	l := mcptest.NewLab(t, c)
	sessions := make(map[string]string) // of each action, which other actions must not lock or close
	for _, tool := range tools.All() {
		for _, a := range tool.Actions {
			r := l.OK(mcptest.SessionTool, `{"action":"open","protocol":"ssh","host":"lab"}`)
			sessions[tool.Name+a.Name] = r.SessionID
			if a.Name == "reopen" { // of an ended one
				l.OK(mcptest.SessionTool, fmt.Sprintf(`{"action":"close","session_id":%q}`, r.SessionID))
			}
		}
	}
	waiting := make(map[string]<-chan mcptest.Answer)
	list := examples(t)
	for _, e := range list {
		var object map[string]any
		if err := json.Unmarshal([]byte(e.example), &object); err != nil || !gives(object, e.path) ||
			e.action != "" && object["action"] != e.action {
			t.Errorf("the example for %s of %s %s is %s (%v)", e.path, e.tool, e.action, e.example, err)
		}
		if _, sent := waiting[e.tool+e.example]; !sent {
			args := strings.ReplaceAll(e.example, "web1-k3f9q2zd", sessions[e.tool+e.action])
			_, waiting[e.tool+e.example] = l.Start("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, e.tool, args))
		}
	}
	answers := make(map[string]string)
	for key, answer := range waiting {
		answers[key] = string((<-answer).Result)
	}
	for _, e := range list {
		if e.action == "give" { // which people alone have: see TestGive
			continue
		}
		if r := answers[e.tool+e.example]; strings.Contains(r, string(term.InvalidArgument)) {
			t.Errorf("the example for %s of %s is %s, which is refused: %s", e.path, e.tool, e.example, r)
		}
	}
}
