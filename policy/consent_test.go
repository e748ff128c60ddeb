package policy

import (
	"context"
	"errors"
	"testing"

	"ptyctl/term"
)

// A person can consent only to actions that nothing but a rule that asks
// denies.
func TestConsent(t *testing.T) {
	const permissions = `{"bash":{"git *":"deny","git push":"ask","npm *":"ask","npm publish":"deny","terraform *":"ask"},"external_directory":"ask"}`
	for _, c := range []struct {
		name, permissions, protocol, dir, command string
		askable                                   bool
	}{
		{"a rule", "", "ssh", "", "push it", true},
		{"twice", "", "ssh", "", "push a; push b", true},
		{"beside what is allowed", "", "ssh", "", "ls | push a", true},
		{"nothing", "", "ssh", "", "ls", false},
		{"deny", "", "ssh", "", "rm x", false},
		{"deny as well", "", "ssh", "", "push a; rm x", false},
		{"deny inside", "", "ssh", "", "push $(rm x)", false},
		{"not allowed as well", "", "ssh", "", "push a; nc x", false},
		{"unreadable as well", "", "ssh", "", `push a; eval "$X"`, false},
		{"broken", "", "ssh", "", "push 'a", false},
		{"a variable", "", "ssh", "", "ASKED=1 ls", true},
		{"PTY_PERMISSIONS", permissions, "local", "", "npm install", true},
		{"the longer one asks", permissions, "local", "", "git push origin", true},
		{"the longer one denies", permissions, "local", "", "npm publish", false},
		{"may be what asks, is what denies", permissions, "local", "", `git "$X"`, false},
		{"a folder", permissions, "local", "/", "ls", true},
		{"a folder and a command", permissions, "local", "/", "npm install", true},
		{"a folder, and deny", permissions, "local", "/", "npm publish", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			rules := Rules{Permissions: c.permissions, Consent: true}
			if c.permissions == "" {
				rules.Allow, rules.Deny = []Rule{
					{Text: "ls"},
					{Text: "push *"},
					{Text: "rm *"},
					{Text: "ASKED=*"},
				}, []Rule{
					{Text: "rm *"},
				}
				rules.Ask = []Rule{{Text: "push *", Name: "policy.ask"}, {Text: "ASKED=*", Name: "policy.ask"}}
			}
			p, err := New(rules)
			if err != nil {
				t.Fatal(err)
			}
			a := term.Action{
				Verb:     term.VerbExec,
				Protocol: c.protocol,
				Host:     "h",
				Dir:      c.dir,
				Command:  c.command,
				FarSide:  func(context.Context) string { return "posix" },
			}
			first := p.Check(t.Context(), a)
			refusal, ok := errors.AsType[*term.Error](first)
			if askable := ok && term.FactOf[term.Denial](refusal).Consent != nil; askable != c.askable {
				t.Fatalf("denial with askable %v = %v, want a question exactly then", askable, first)
			}
			if !c.askable {
				return
			}
			given := *term.FactOf[term.Denial](refusal).Consent
			if err := p.Check(term.WithConsent(t.Context(), given), a); err != nil {
				t.Errorf("action with its consent = %v, want it allowed", err)
			}
			for _, other := range []func(*term.Action){
				func(a *term.Action) { a.Command += " more" },
				func(a *term.Action) { a.User = "root" },
				func(a *term.Action) { a.Host = "other" },
				func(a *term.Action) { a.Env = []term.EnvVar{{Name: "LANG", Value: "C"}} },
				func(a *term.Action) { a.Dir += "/tmp" },
			} {
				changed := a
				other(&changed)
				if p.Check(t.Context(), changed) != nil && p.Check(term.WithConsent(t.Context(), given), changed) == nil {
					t.Errorf("the consent allows %+v, want only its own action", changed)
				}
			}
			rules.Consent = false
			p, err = New(rules)
			if err != nil {
				t.Fatal(err)
			}
			if e, ok := errors.AsType[*term.Error](p.Check(term.WithConsent(t.Context(), given), a)); !ok ||
				term.FactOf[term.Denial](e).Consent != nil {
				t.Errorf("denial without policy.consent = %v, want no question", e)
			}
		})
	}
}

// A person can consent to typed lines, but not to keys or to input that the
// rules cannot see.
func TestConsentToTyping(t *testing.T) {
	for _, c := range []struct {
		typing  Typing
		write   term.Action
		askable bool
	}{
		{TypingLines, term.Action{Data: []byte("push it\r")}, true},
		{TypingLines, term.Action{Data: []byte("push i\x7f\r")}, false},
		{TypingLines, term.Action{Sensitive: true}, false},
		{TypingAuto, term.Action{Data: []byte("push it\r")}, false},
		{TypingDeny, term.Action{Data: []byte("push it\r")}, false},
	} {
		p, err := New(Rules{Ask: []Rule{{Text: "push *", Name: "policy.ask"}}, Typing: c.typing, Consent: true})
		if err != nil {
			t.Fatal(err)
		}
		c.write.Verb, c.write.Protocol = term.VerbWrite, "ssh"
		e, ok := errors.AsType[*term.Error](p.Check(t.Context(), c.write))
		if !ok || (term.FactOf[term.Denial](e).Consent != nil) != c.askable ||
			c.askable && !term.FactOf[term.Denial](e).Consent.Typed {
			t.Errorf("typing %s, write %q: denial = %v, want a question only for lines", c.typing, c.write.Data, e)
		}
	}
}
