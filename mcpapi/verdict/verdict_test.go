package verdict_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ptyctl/mcpapi/verdict"
	"ptyctl/term"
)

const secret = "planted-word-1138"

// full is an action with each field set, and with a secret in each that a question must not have.
func full() term.Action {
	hop := term.PlannedHop{
		Alias: "web1", Host: "10.0.0.1", Port: 22, User: "alice", Vouched: []string{"web1"},
		Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.1")}, Names: []string{"db1"}, HostKeyPolicy: "strict", Pinned: true,
	}
	kept := hop
	kept.Credentials = []string{secret}
	return term.Action{
		Verb: term.VerbExec, Session: "web1-aaaaaaaa@b", Protocol: "ssh", Host: "web1", User: "alice", Far: &kept,
		Actor: term.Actor{Transport: "http", Token: secret},
		Target: &term.Target{
			Protocol: "ssh", Host: "web1", Port: 22, User: "alice",
			Auth: term.Auth{Password: secret, PrivateKeyPEM: secret, Passphrase: secret, Secret: secret},
			SSH:  term.SSHOptions{ProxyURL: "socks5://a:" + secret + "@b", ExtraArgs: []string{secret}},
		},
		Plan: &term.Plan{
			Hops: []term.PlannedHop{kept}, Proxy: &kept, RemoteCommand: secret,
			Env:       []term.EnvVar{{Name: "TOKEN", Value: secret}, {Name: "LANG", Value: "C"}},
			CallerEnv: []term.EnvVar{{Name: "LANG", Value: "C"}},
		},
		Command: "uptime", Argv: []string{"uptime"}, Dir: "/srv", Env: []term.EnvVar{{Name: "A", Value: "b"}}, Input: 7,
		Data: []byte{0, 0xff}, Key: "enter", Path: "/etc/motd", To: "db1:5432", FarSide: func(context.Context) string { return "posix" },
	}
}

// TestQuestion: the parts that rules judge arrive unchanged, and no other part is sent.
func TestQuestion(t *testing.T) {
	a := full()
	text, err := verdict.Encode(a, "posix")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), secret) {
		t.Errorf("the question has a secret: %s", text)
	}
	q, err := verdict.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	got, want := reflect.ValueOf(q.Action), reflect.ValueOf(a)
	for i := range want.NumField() {
		switch name := want.Type().Field(i).Name; name {
		case "Actor":
			if q.Action.Actor != (term.Actor{}) {
				t.Errorf("the question names an actor: %+v", q.Action.Actor)
			}
		case "Far", "Target", "Plan", "FarSide", "Sensitive": // below
		default:
			if want.Field(i).IsZero() {
				t.Errorf("the test says nothing of Action.%s: decide whether rules judge it", name)
			}
			if !reflect.DeepEqual(got.Field(i).Interface(), want.Field(i).Interface()) {
				t.Errorf("Action.%s = %v, want %v", name, got.Field(i), want.Field(i))
			}
		}
	}
	hop := *a.Far
	hop.Credentials = nil
	if !reflect.DeepEqual(*q.Action.Far, hop) || !reflect.DeepEqual(q.Action.Plan.Hops, []term.PlannedHop{hop}) ||
		!reflect.DeepEqual(*q.Action.Plan.Proxy, hop) || !reflect.DeepEqual(q.Action.Plan.CallerEnv, a.Plan.CallerEnv) {
		t.Errorf("the hosts are %+v and %+v, want %+v", q.Action.Far, q.Action.Plan, hop)
	}
	if g := q.Action.Target; g.Protocol != "ssh" || g.Host != "web1" || g.Port != 22 || g.User != "alice" {
		t.Errorf("the target is %+v", g)
	}
	if class := q.Action.FarSide(t.Context()); class != "posix" || q.Shell {
		t.Errorf("the class is %q, and is asked for: %v", class, q.Shell)
	}
	a.Sensitive, a.Data = true, []byte(secret) // which no caller of a Gate does
	if text, err = verdict.Encode(a, ""); err != nil || strings.Contains(string(text), secret) {
		t.Errorf("the question about sensitive input = %s, %v", text, err)
	}
}

// TestShell: a class that the question does not have is asked for only if the rules need it.
func TestShell(t *testing.T) {
	text, err := verdict.Encode(full(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, needs := range []bool{false, true} {
		q, err := verdict.Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		if needs {
			q.Action.FarSide(t.Context())
		}
		if a := q.Answer(term.Ruling{Command: "uptime"}, nil); a.Shell != needs || (a.Command == "") != needs {
			t.Errorf("needed: %v; the answer is %+v", needs, a)
		}
	}
}

// TestNotExact: there is no question about an action that JSON would change or that is too large.
func TestNotExact(t *testing.T) {
	for name, change := range map[string]func(*term.Action){
		"command":   func(a *term.Action) { a.Command = "echo \xff" },
		"word":      func(a *term.Action) { a.Argv = []string{"\xff"} },
		"variable":  func(a *term.Action) { a.Env = []term.EnvVar{{Name: "A", Value: "\xff"}} },
		"of a plan": func(a *term.Action) { a.Plan.CallerEnv = []term.EnvVar{{Name: "A", Value: "\xff"}} },
		"host":      func(a *term.Action) { a.Plan.Hops[0].Alias = "\xff" },
		"far":       func(a *term.Action) { a.Far.Names = []string{"\xff"} },
		"too large": func(a *term.Action) { a.Command = strings.Repeat("x", verdict.MaxBytes) },
	} {
		a := full()
		change(&a)
		if text, err := verdict.Encode(a, ""); err == nil {
			t.Errorf("%s: a question of %d bytes, want none", name, len(text))
		}
	}
}

// TestHostile: messages that no node writes are refused.
func TestHostile(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":      "{",
		"no verb":      `{}`,
		"a number":     `7`,
		"too large":    `{"verb":"exec","command":"` + strings.Repeat("x", verdict.MaxBytes) + `"}`,
		"a long name":  `{"verb":"exec","host":"` + strings.Repeat("x", 5000) + `"}`,
		"no input":     `{"verb":"exec","input":-1}`,
		"seen input":   `{"verb":"write","sensitive":true,"data":"AAAA"}`,
		"no target":    `{"verb":"open","plan":{"hops":[]}}`,
		"many hosts":   `{"verb":"open","target":{"protocol":"ssh"},"plan":{"hops":[{}` + strings.Repeat(",{}", 64) + `]}}`,
		"no address":   `{"verb":"exec","far":{"addresses":["x"]}}`,
		"other fields": `{"verb":7}`,
	} {
		if q, err := verdict.Decode([]byte(text)); err == nil {
			t.Errorf("%s: %+v, want an error", name, q)
		}
	}
	for name, text := range map[string]string{
		"no JSON":    "",
		"too large":  `{"command":"` + strings.Repeat("x", verdict.MaxBytes) + `"}`,
		"long words": `{"denied":{"kind":"POLICY_DENIED","msg":"` + strings.Repeat("x", 9000) + `"}}`,
		"many rules": `{"denied":{"allowed":["x"` + strings.Repeat(`,"x"`, 40) + `]}}`,
		"many names": `{"names":["x"` + strings.Repeat(`,"x"`, 300) + `]}`,
	} {
		if a, err := verdict.ReadAnswer([]byte(text)); err == nil {
			t.Errorf("answer: %s: %+v, want an error", name, a)
		}
	}
}

// TestDenial: a denial arrives with its rule and its reason, and names the node. A consent that it needs stays where it
// can be given.
func TestDenial(t *testing.T) {
	refusal := &term.Error{
		Op: "exec", Kind: term.PolicyDenied, Reason: term.ReasonRunCommands, Msg: "the rule denies this", Advice: "do something else",
		Facts: term.Facts{term.Denial{Rule: `policy.deny "reboot"`, Allowed: []string{"uptime"}, Consent: &term.Consent{Rule: "r"}}},
	}
	answer := func(r term.Ruling, err error) (term.Ruling, error) {
		t.Helper()
		text, bad := json.Marshal(new(verdict.Question).Answer(r, err))
		if bad != nil {
			t.Fatal(bad)
		}
		a, bad := verdict.ReadAnswer(text)
		if bad != nil {
			t.Fatal(bad)
		}
		return a.Ruling(term.Action{Verb: term.VerbExec, Session: "s@b"}, "a")
	}
	_, err := answer(term.Ruling{}, refusal)
	e, ok := errors.AsType[*term.Error](err)
	if !ok || e.Kind != term.PolicyDenied || e.Op != "exec" || e.Session != "s@b" || e.Advice != refusal.Advice || e.Reason != refusal.Reason ||
		e.Msg != "by the rules of node a, to which the client is connected: the rule denies this" {
		t.Errorf("the denial is %#v", err)
	}
	if d := term.FactOf[term.Denial](err); d.Rule != `policy.deny "reboot" of node a` || !slices.Equal(d.Allowed, []string{"uptime"}) || d.Consent != nil {
		t.Errorf("its rule is %+v", d)
	}
	if _, err = answer(term.Ruling{}, errors.New("a fault")); term.KindOf(err) != term.IOError {
		t.Errorf("a fault of the gate = %v, want %s", err, term.IOError)
	}
	if _, err = answer(term.Ruling{Program: "/bin/sh"}, nil); term.KindOf(err) != term.PolicyDenied {
		t.Errorf("a program of the other machine = %v, want it denied", err)
	}
	r, err := answer(term.Ruling{Command: "uptime", Argv: []string{"uptime"}, Grant: term.Grant{Names: []string{"db1"}}, Reported: refusal}, nil)
	if err != nil || r.Command != "uptime" || !slices.Equal(r.Argv, []string{"uptime"}) || !slices.Equal(r.Grant.Names, []string{"db1"}) ||
		!errors.Is(r.Reported, term.PolicyDenied) {
		t.Errorf("the ruling is %+v, %v", r, err)
	}
}
