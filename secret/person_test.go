package secret

import (
	"context"
	"errors"
	"slices"
	"testing"

	"ptyctl/secret/source"
	"ptyctl/term"
)

// asked answers questions about secrets, and keeps them.
type asked struct {
	list  []term.SecretQuestion
	value string
	err   error
}

func (a *asked) AskSecret(_ context.Context, q term.SecretQuestion) ([]byte, error) {
	a.list = append(a.list, q)
	if a.err != nil {
		return nil, a.err
	}
	return []byte(a.value), nil
}

// hider keeps the values that are to be hidden.
type hider []string

func (h *hider) Redact(v term.RedactedValue) { *h = append(*h, string(v.Value)) }

// sudo is a request at a prompt of web1.
func sudo(session string) term.SecretRequest {
	return term.SecretRequest{Name: "pw", Use: term.SecretTerminal, Prompt: "[sudo] password for deploy: ", Peer: term.Peer{
		Protocol: "ssh", Session: session, User: "deploy", Host: "192.0.2.1", Port: 22, Names: []string{"web1"},
		HostKey: term.HostKeyRecorded,
	}}
}

func as(t *testing.T, a term.Actor) context.Context { return term.WithActor(t.Context(), a) }

// When a person is asked to agree: to the first use of a caller in a session, or to each.
func TestConfirm(t *testing.T) {
	one, two := term.Actor{Transport: "stdio"}, term.Actor{Transport: "http", Token: "two"}
	for confirm, want := range map[Confirm]int{ConfirmNever: 0, ConfirmFirst: 3, ConfirmAlways: 4} {
		person := &asked{}
		var on []term.Event
		s := NewStore([]Definition{{Name: "pw", Source: value("value-v"), Hosts: []string{"web1"}, Confirm: confirm}}, Options{
			Person: person, Journal: func(e term.Event) error { on = append(on, e); return nil },
		})
		for _, use := range []struct {
			by      term.Actor
			session string
		}{{one, "web1-a"}, {one, "web1-a"}, {one, "web1-b"}, {two, "web1-a"}} {
			if got, err := s.Release(as(t, use.by), sudo(use.session)); string(got) != "value-v" || err != nil {
				t.Errorf("confirm %s: Release for %+v = %q, %v; want the value", confirm, use, got, err)
			}
		}
		for _, q := range person.list {
			if q.Lasting != (confirm == ConfirmFirst) {
				t.Errorf("confirm %s: a person is told that the consent lasts: %t", confirm, q.Lasting)
			}
		}
		if len(person.list) != want {
			t.Errorf("confirm %s: a person was asked %d times in four uses, want %d", confirm, len(person.list), want)
		}
		if agreed := on[0].Consent; (agreed != "") != (want > 0) {
			t.Errorf("confirm %s: the record names the consent %q", confirm, agreed)
		}
	}
}

// A use without consent takes none of the uses of an hour, and a refusal is on record.
func TestWithoutConsent(t *testing.T) {
	person := &asked{err: &term.Error{Kind: term.Busy, Msg: "not yet"}}
	var on []term.Event
	s := NewStore([]Definition{{Name: "pw", Source: value("value-v"), Hosts: []string{"web1"}, Confirm: ConfirmFirst, PerHour: 1}},
		Options{Person: person, Journal: func(e term.Event) error { on = append(on, e); return nil }})
	for range 3 {
		if _, err := s.Release(t.Context(), sudo("a")); !errors.Is(err, term.Busy) {
			t.Fatalf("Release without an answer = %v, want BUSY", err)
		}
	}
	if len(on) != 0 {
		t.Errorf("on record are %+v, want nothing before the answer", on)
	}
	person.err = &term.Error{Kind: term.PolicyDenied, Msg: "denied"}
	if _, err := s.Release(t.Context(), sudo("a")); !errors.Is(err, term.PolicyDenied) || len(on) != 1 || on[0].Refused == nil {
		t.Errorf("Release after a denial = %v, on record %+v; want the refusal in both", err, on)
	}
	person.err = nil
	if got, err := s.Release(t.Context(), sudo("a")); string(got) != "value-v" || err != nil {
		t.Errorf("Release with consent = %q, %v; want the value", got, err)
	}
	nobody := NewStore([]Definition{{Name: "pw", Source: value("value-v"), Hosts: []string{"web1"}, Confirm: ConfirmAlways}}, Options{})
	if _, err := nobody.Release(t.Context(), sudo("a")); !errors.Is(err, term.PolicyDenied) {
		t.Errorf("Release where nobody can be asked = %v, want POLICY_DENIED", err)
	}
}

// A value that a person gives is asked for at a terminal, and left to the login's own question at a login.
func TestPersonGives(t *testing.T) {
	from, err := source.Parse("person", source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	person := &asked{value: "typed-by-one", err: &term.Error{Kind: term.Busy, Msg: "not yet"}}
	var hidden hider
	s := NewStore([]Definition{{Name: "pw", Source: from, Hosts: []string{"web1"}, Auto: true, PerHour: 2}},
		Options{Person: person, Redactor: &hidden})
	if list := s.List(t.Context()); len(list) != 1 || !list[0].Person {
		t.Errorf("the caller's list is %+v, want one secret that a person gives", list)
	}
	for range 3 {
		if _, err := s.Release(t.Context(), sudo("a")); !errors.Is(err, term.Busy) {
			t.Errorf("Release without an answer = %v, want BUSY, and no use counted", err)
		}
	}
	person.list, person.err = nil, nil
	if got, err := s.Release(t.Context(), sudo("a")); string(got) != "typed-by-one" || err != nil {
		t.Errorf("Release = %q, %v; want the person's value", got, err)
	}
	if len(person.list) != 1 || !person.list[0].Value || person.list[0].Secret != "pw" {
		t.Errorf("a person was asked %+v, want once for the value of pw", person.list)
	}
	_, name, err := s.Answer(t.Context(), login, password)
	if leave, ok := errors.AsType[*term.PersonAnswers](err); !ok || leave.Secret != "pw" || name != "" {
		t.Fatalf("Answer = %q, %v; want that a person answers for pw", name, err)
	} else {
		if err := leave.Gave([]byte("at the login")); err != nil {
			t.Errorf("the value at the login is refused: %v", err)
		}
		if err := leave.Gave([]byte("short")); term.FactOf[term.Denial](err).Rule != "secret.pw.short_ok" {
			t.Errorf("a short value at the login ends with %v, want the refusal that a vault's would get", err)
		}
	}
	if want := []string{"typed-by-one", "at the login"}; !slices.Equal(hidden, want) {
		t.Errorf("hidden are %q, want %q", hidden, want)
	}
}

// Callers with secrets of their own for the same account each log in by theirs, and one without is asked. One that names
// another's is refused.
func TestCallersLogIn(t *testing.T) {
	s := NewStore([]Definition{
		{Name: "a-pw", Source: value("value-a"), Hosts: []string{"web1"}, Callers: []string{"a"}, Auto: true},
		{Name: "b-pw", Source: value("value-b"), Hosts: []string{"web1"}, Callers: []string{"b"}, Auto: true},
	}, Options{})
	for token, want := range map[string]string{"a": "a-pw", "b": "b-pw", "c": ""} {
		ctx := term.WithActor(t.Context(), term.Actor{Transport: "http", Token: token})
		if _, name, err := s.Answer(ctx, login, password); name != want || err != nil {
			t.Errorf("the login of %s is answered from %q, %v; want %q", token, name, err, want)
		}
		named := login
		named.Secret = "a-pw"
		if _, name, err := s.Answer(ctx, named, password); (name == "a-pw") != (token == "a") ||
			(term.FactOf[term.Denial](err).Rule == "secret.a-pw.callers") != (token != "a") {
			t.Errorf("the login of %s that names a-pw is answered from %q, %v", token, name, err)
		}
	}
}

// Callers are identified by the transport's data, not by their own claims.
func TestCallers(t *testing.T) {
	for _, tt := range []struct {
		callers []string
		by      term.Actor
		may     bool
	}{
		{nil, term.Actor{Transport: "http", Token: "any"}, true},
		{[]string{"deploy*"}, term.Actor{Transport: "http", Token: "deployer"}, true},
		{[]string{"deploy*"}, term.Actor{Transport: "http", Token: "other", Client: "deployer"}, false},
		{[]string{"deploy*"}, term.Actor{Transport: "stdio", Client: "deployer", Task: "deploy", Agent: "deploy"}, false},
		{[]string{"stdio"}, term.Actor{Transport: "stdio"}, true},
		{[]string{"http"}, term.Actor{Transport: "http", Token: "other"}, false},
		{[]string{"stdio"}, term.Actor{Transport: "http", Token: "other"}, false},
		{[]string{"oauth:alice"}, term.Actor{Transport: "http", Token: "oauth:alice"}, true},
		{[]string{"oauth:Alice"}, term.Actor{Transport: "http", Token: "oauth:alice"}, false},
		{[]string{"oauth:*@ops.example.net"}, term.Actor{Transport: "http", Token: "oauth:a@ops.example.net"}, true},
		{[]string{"*"}, term.Actor{Transport: "http", Token: "oauth:alice"}, true},
		{[]string{"alice", "*alice", "o*", "?auth:alice", "http"}, term.Actor{Transport: "http", Token: "oauth:alice"}, false},
		{[]string{"oauth:alice"}, term.Actor{Transport: "http", Token: "alice"}, false},
	} {
		s := NewStore([]Definition{{Name: "pw", Source: value("value-v"), Hosts: []string{"web1"}, Callers: tt.callers}}, Options{})
		_, err := s.Release(as(t, tt.by), sudo("a"))
		if (err == nil) != tt.may {
			t.Errorf("callers %q: Release for %+v = %v, want permitted: %t", tt.callers, tt.by, err, tt.may)
		}
		if rule := term.FactOf[term.Denial](err).Rule; !tt.may && rule != "secret.pw.callers" {
			t.Errorf("callers %q: the refusal names the rule %q", tt.callers, rule)
		}
	}
}

// Each condition of a request, on its own.
func TestRelease(t *testing.T) {
	base := Definition{Name: "pw", Source: value("value-v"), Hosts: []string{"web1", "sw*"}, Users: []string{"deploy"}}
	everywhere := base
	everywhere.Local, everywhere.Devices, everywhere.Users = true, []string{"/dev/ttyUSB*"}, nil
	open := base
	open.Cleartext, open.AllowEcho = true, true
	with := func(change func(*term.SecretRequest)) term.SecretRequest { r := sudo("a"); change(&r); return r }
	telnet := func(tls string) term.SecretRequest {
		return with(func(r *term.SecretRequest) { r.Peer.Protocol, r.Peer.HostKey, r.Peer.TLS = "telnet", "", tls })
	}
	for name, tt := range map[string]struct {
		d    Definition
		r    term.SecretRequest
		rule string // that refuses; empty: none
	}{
		"all holds":             {base, sudo("a"), ""},
		"another host":          {base, with(func(r *term.SecretRequest) { r.Peer.Names = []string{"db1"} }), "hosts"},
		"no name":               {base, with(func(r *term.SecretRequest) { r.Peer.Names = nil }), "hosts"},
		"another account":       {base, with(func(r *term.SecretRequest) { r.Peer.User = "root" }), "users"},
		"a new host key":        {base, with(func(r *term.SecretRequest) { r.Peer.HostKey = term.HostKeyAccepted }), "host_key"},
		"no host key":           {base, with(func(r *term.SecretRequest) { r.Peer.HostKey = "" }), "host_key"},
		"shown":                 {base, with(func(r *term.SecretRequest) { r.Echo = true }), "echo"},
		"shown and allowed":     {open, with(func(r *term.SecretRequest) { r.Echo = true }), ""},
		"a whole screen":        {open, with(func(r *term.SecretRequest) { r.FullScreen = true }), "screen"},
		"a shell's prompt":      {base, with(func(r *term.SecretRequest) { r.Prompt = "deploy@web1:~$ " }), "prompts"},
		"a new password":        {base, with(func(r *term.SecretRequest) { r.Prompt = "New password: " }), "prompts"},
		"plain Telnet":          {base, telnet(""), "cleartext"},
		"unverified TLS":        {base, telnet("no"), "cleartext"},
		"verified TLS":          {base, telnet("chain"), ""},
		"pinned TLS":            {base, telnet("pin"), ""},
		"plain Telnet, allowed": {open, telnet(""), ""},
		"local":                 {base, with(func(r *term.SecretRequest) { r.Peer = term.Peer{Protocol: "local"} }), "local"},
		"local, bound":          {everywhere, with(func(r *term.SecretRequest) { r.Peer = term.Peer{Protocol: "local"} }), ""},
		"serial":                {base, with(func(r *term.SecretRequest) { r.Peer = term.Peer{Protocol: "serial", Device: "/dev/ttyS0"} }), "devices"},
		"serial, bound":         {everywhere, with(func(r *term.SecretRequest) { r.Peer = term.Peer{Protocol: "serial", Device: "/dev/ttyUSB1"} }), ""},
		"sudo":                  {base, with(func(r *term.SecretRequest) { r.Use, r.Sudo, r.Prompt = term.SecretStdin, true, "" }), ""},
		"a command":             {base, with(func(r *term.SecretRequest) { r.Use, r.Command = term.SecretStdin, "cat" }), "commands"},
		"for logins alone": {func() Definition { d := base; d.Uses = []term.SecretUse{term.SecretLogin}; return d }(), sudo("a"),
			"uses"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewStore([]Definition{tt.d}, Options{}).Release(t.Context(), tt.r)
			if rule := term.FactOf[term.Denial](err).Rule; (err == nil) != (tt.rule == "") || tt.rule != "" && rule != "secret.pw."+tt.rule {
				t.Errorf("Release(%+v) = %v by %q, want the rule %q", tt.r, err, rule, tt.rule)
			}
		})
	}
	names := []term.Kind{}
	for _, name := range []string{"", "other"} {
		_, err := NewStore([]Definition{base}, Options{}).Release(t.Context(), term.SecretRequest{Name: name})
		names = append(names, term.KindOf(err))
	}
	if !slices.Equal(names, []term.Kind{term.NotFound, term.NotFound}) {
		t.Errorf("unknown names: %v, want NOT_FOUND", names)
	}
}
