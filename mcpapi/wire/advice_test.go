package wire

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"ptyctl/term"
)

// TestTheWireHasWordsForAll reads the constants of package term, so that a new one is not forgotten here.
func TestTheWireHasWordsForAll(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../term/reason.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	ast.Inspect(file, func(n ast.Node) bool {
		c, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		seen++
		text, err := strconv.Unquote(c.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatalf("%s: %v", c.Names[0].Name, err)
		}
		words := ""
		switch typ := c.Type.(*ast.Ident).Name; typ {
		case "Reason":
			words = advice[term.Reason(text)]
		case "Limit":
			words = limitKeys[term.Limit(text)]
		case "Setting":
			words = settingKeys[term.Setting(text)]
		case "Field":
			words = arguments[term.Field(text)]
		default:
			t.Errorf("%s has the type %s, for which this test has no table", c.Names[0].Name, typ)
		}
		if words == "" {
			t.Errorf("term.%s has no words on the wire; add them to advice.go", c.Names[0].Name)
		}
		return false
	})
	if seen < 20 {
		t.Errorf("reason.go declares %d constants, want at least 20", seen)
	}
}

func TestMessage(t *testing.T) {
	for _, tt := range []struct {
		name        string
		e           term.Error
		ours, plain string
	}{
		{"nothing to add", term.Error{Msg: "a"}, "a", "a"},
		{
			"a pattern for the last line",
			term.Error{
				Msg: "no prompt", Reason: term.ReasonNoPrompt, Facts: term.Facts{term.Occupied{Pattern: "[$] $", Channel: true}},
			},
			`no prompt; if the last line is a shell's prompt, set expect.prompt_regex (such as "[$] $"), or ` +
				"use ptyctl_session_io write and read, or pass lane channel",
			"no prompt",
		},
		{"the kind alone", term.Error{Kind: term.Busy}, "BUSY", "BUSY"},
		{"advice in plain words", term.Error{Msg: "a", Advice: "b"}, "a; b", "a; b"},
		{"ours instead of Go's", term.Error{Msg: "a", Advice: "call F", Reason: term.ReasonNotHeld}, "a; take it with ptyctl_session lock", "a"},
		{
			"the id of a command",
			term.Error{Msg: "a", Reason: term.ReasonCanceledRunning, Facts: term.Facts{term.Occupied{Exec: "x1"}}},
			"a; wait for it with exec_id x1", "a",
		},
		{
			"a channel lane",
			term.Error{Msg: "a", Reason: term.ReasonQueued, Facts: term.Facts{term.Occupied{Channel: true}}},
			"a; pass queue true to run after them, or lane channel to run beside the terminal", "a",
		},
		{"no channel lane", term.Error{Msg: "a", Reason: term.ReasonQueued}, "a; pass queue true to run after them", "a"},
		{
			"a limit",
			term.Error{Msg: "a", Advice: "b", Facts: term.Facts{term.LimitReached{Limit: term.LimitSessions}}},
			"a (session.max_sessions); b", "a (session.max_sessions); b",
		},
	} {
		if got := Message(&tt.e); got != tt.ours {
			t.Errorf("%s: Message = %q, want %q", tt.name, got, tt.ours)
		}
		if got := Plain(&tt.e); got != tt.plain {
			t.Errorf("%s: Plain = %q, want %q", tt.name, got, tt.plain)
		}
	}
}

// A call that names its host is shown how to open it with the argument that the advice is about.
// A refusal names the operator's key that would permit the use of a secret, where there is one.
func TestSecretAdvice(t *testing.T) {
	for rule, want := range map[string]string{
		"secret.web-sudo.prompts":   "secret.web-sudo.prompts",
		"secret.web.sudo.echo":      "secret.web.sudo.allow_echo = true",
		"secret.web-sudo.host_key":  "known_hosts",
		"secret.web-sudo.cleartext": "secret.web-sudo.cleartext = true",
		"secret.web-sudo.callers":   "secret.web-sudo.callers",
		"secret.web-sudo.unknown":   "",
		"policy.deny[0]":            "",
	} {
		if got := secretAdvice(rule); !strings.Contains(got, want) || (want == "") != (got == "") || strings.Contains(got, "{") {
			t.Errorf("the advice for %s is %q, want %q in it", rule, got, want)
		}
	}
	e := term.Error{
		Kind: term.PolicyDenied, Msg: "secret a is not given: why", Facts: term.Facts{term.Denial{Rule: "secret.a.users"}},
	}
	if got, want := Message(&e), "secret a is not given: why; the operator may add the account to secret.a.users"; got != want {
		t.Errorf("the message is %q, want %q", got, want)
	}
}

func TestMessageOnHost(t *testing.T) {
	there := term.HostNamed{Protocol: "ssh", Host: "::1", User: "al", Port: 2222}
	for _, tt := range []struct {
		reason term.Reason
		facts  term.Facts
		want   string
	}{
		{
			term.ReasonPinAllowed, term.Facts{there},
			`a; to pin its key, open it with ptyctl_session {"action":"open","protocol":"ssh","host":"al@[::1]:2222",` +
				`"ssh_options":{"host_key_fingerprint":"SHA256:..."}} and use its session_id`,
		},
		{
			term.ReasonNoCredential, term.Facts{term.HostNamed{Protocol: "ssh", Host: "web1"}},
			`a; load a key into the agent, or open it with ptyctl_session {"action":"open","protocol":"ssh","host":"web1",` +
				`"auth":{"password":"..."}} and use its session_id`,
		},
		{term.ReasonWrongAnswer, term.Facts{there}, "a; check the answers that were given, and the user before the @ of host"},
		{term.ReasonNoPrompt, term.Facts{there}, "a; if the last line is a shell's prompt, set expect.prompt_regex (such as \"\"), or " +
			"use ptyctl_session_io write and read"},
		{"", term.Facts{there, term.ArgumentFault{Field: term.FieldProxyURL}}, "a"},
	} {
		if got := Message(&term.Error{Msg: "a", Reason: tt.reason, Facts: tt.facts}); got != tt.want {
			t.Errorf("%s: Message = %q, want %q", tt.reason, got, tt.want)
		}
	}
}

// No advice for such a call names an argument that only open takes, unless it shows that call.
func TestOnHostHasNoArguments(t *testing.T) {
	for reason, text := range advice {
		for _, name := range []string{"auth.", "username", "ssh_options.", "telnet.", "timeouts.", "pty."} {
			if _, ok := onHost[reason]; strings.Contains(" "+text, " "+name) && !ok && !onlyAskedFor[reason] {
				t.Errorf("the advice for %q names %s, which a call with a host has not; add it to onHost", reason, name)
			}
		}
	}
	for reason, a := range onHost {
		if advice[reason] == "" || a.arguments == "" && strings.Contains(a.text, "open it with") {
			t.Errorf("onHost has %q: %+v", reason, a)
		}
	}
}

// onlyAskedFor are the reasons that come of an argument of open alone.
var onlyAskedFor = map[term.Reason]bool{
	term.ReasonWrongPassword: true, term.ReasonPinOrRecord: true, term.ReasonTelnetLogin: true, term.ReasonTelnetSilent: true,
	term.ReasonCertificate: true, term.ReasonNoTLS: true,
}
