package secret

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/term"
)

// value is a source with a fixed value, or none.
type value string

func (v value) Fetch(context.Context) ([]byte, error) {
	if v == "" {
		return nil, errors.New("the vault is locked")
	}
	return []byte(v), nil
}

var (
	login    = term.Login{User: "deploy", Host: "192.0.2.1", Port: 22, Names: []string{"web1", "192.0.2.1"}, HostKey: term.HostKeyRecorded}
	password = term.Prompt{Kind: term.PromptPassword, Text: "deploy@192.0.2.1's password: "}
	code     = term.Prompt{Kind: term.PromptChallenge, Text: "Verification code: "}
)

// Which secret answers which question.
func TestAnswer(t *testing.T) {
	pw := Definition{Auto: true, Name: "pw", Source: value("value-v1"), Hosts: []string{"WEB*"}}
	otp := Definition{Auto: true, Name: "otp", Source: value("value-v2"), Hosts: []string{"web1"}, OneTime: true}
	other := Definition{Auto: true, Name: "other", Source: value("value-v3"), Hosts: []string{"db*"}}
	custom := Definition{Auto: true, Name: "custom", Source: value("value-v4"), Hosts: []string{"*"}, Prompts: []*regexp.Regexp{regexp.MustCompile(`^PIN: ?$`)}}
	locked := Definition{Auto: true, Name: "locked", Source: value(""), Hosts: []string{"web1"}}
	with := func(d Definition, change func(*Definition)) Definition { change(&d); return d }
	at := func(change func(*term.Login)) term.Login { l := login; change(&l); return l }
	ask := func(text string) term.Prompt { return term.Prompt{Kind: term.PromptChallenge, Text: text} }
	for name, tt := range map[string]struct {
		list []Definition
		l    term.Login
		q    term.Prompt
		want string // of the name
		err  string
	}{
		"password":                {[]Definition{other, otp, pw}, login, password, "pw", ""},
		"code":                    {[]Definition{pw, otp}, login, code, "otp", ""},
		"PAM's password":          {[]Definition{otp, pw}, login, ask("Password: "), "pw", ""},
		"with an instruction":     {[]Definition{otp, pw}, login, ask("Enter your one-time code after the\r\npassword.\r\nPassword: "), "pw", ""},
		"one-time password":       {[]Definition{pw, otp}, login, ask("One-time password (OATH) for `deploy': "), "otp", ""},
		"new password":            {[]Definition{pw}, login, ask("New password: "), "", ""},
		"another question":        {[]Definition{pw, otp}, login, ask("Continue? "), "", ""},
		"own question":            {[]Definition{pw, custom}, login, ask("PIN: "), "custom", ""},
		"a passphrase":            {[]Definition{pw}, login, term.Prompt{Kind: term.PromptPassphrase, Text: "Password for key: "}, "", ""},
		"a host key":              {[]Definition{with(custom, func(d *Definition) { d.Prompts[0] = regexp.MustCompile("") })}, login, term.Prompt{Kind: term.PromptHostKey, Text: "yes/no?"}, "", ""},
		"another host":            {[]Definition{other}, login, password, "", ""},
		"a host behind the name":  {[]Definition{pw}, at(func(l *term.Login) { l.Names = nil }), password, "", ""},
		"another user":            {[]Definition{with(pw, func(d *Definition) { d.Users = []string{"root"} })}, login, password, "", ""},
		"the user":                {[]Definition{with(pw, func(d *Definition) { d.Users = []string{"root", "dep*"} })}, login, password, "pw", ""},
		"given before":            {[]Definition{pw}, at(func(l *term.Login) { l.Given = []string{"pw"} }), password, "", ""},
		"a key not on record":     {[]Definition{pw}, at(func(l *term.Login) { l.HostKey = term.HostKeyAccepted }), password, "", "POLICY_DENIED: secret pw is not given: the host's key was not on the operator's record"},
		"an answer that is shown": {[]Definition{pw}, login, term.Prompt{Kind: term.PromptChallenge, Text: "Password: ", Echo: true}, "", "the host would show the answer"},
		"a locked vault":          {[]Definition{locked}, login, password, "", "AUTH_FAILED: secret locked is not available: the vault is locked"},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewStore(tt.list, Options{})
			got, by, err := s.Answer(t.Context(), tt.l, tt.q)
			text := ""
			if err != nil {
				text = string(term.KindOf(err)) + ": " + err.Error()
			}
			if by != tt.want || (by == "") != (got == "") || (text == "") != (tt.err == "") || !strings.Contains(text, tt.err) {
				t.Errorf("the question %q at %+v gets %q from %q, %q; want one of %q, %q", tt.q.Text, tt.l, got, by, text, tt.want, tt.err)
			}
			if tt.want != "" && !s.Expects(tt.l) {
				t.Errorf("Expects(%+v) = false, want true", tt.l)
			}
		})
	}
}

// A secret that the caller has named answers without Auto, goes before others, and says why it does not fit. It answers for
// a key once, and then for the account.
func TestAnswerNamed(t *testing.T) {
	s := NewStore([]Definition{
		{Auto: true, Name: "auto", Source: value("v1-long"), Hosts: []string{"web1"}},
		{Name: "named", Source: value("v2-long"), Hosts: []string{"web1"}},
		{Name: "db", Source: value("v3-long"), Hosts: []string{"db1"}},
		{Name: "sudo", Source: value("v4-long"), Hosts: []string{"web1"}, Uses: []term.SecretUse{term.SecretStdin}},
	}, Options{})
	l := login
	l.Secret = "named"
	key := term.Prompt{Kind: term.PromptPassphrase, Text: "Enter passphrase for key 'id': "}
	var got []string
	for _, q := range []term.Prompt{key, key, key, password, password, password} {
		answer, by, err := s.Answer(t.Context(), l, q)
		if err != nil || s.Expects(l) != (by != "") {
			t.Fatalf("the question %q: %v", q.Text, err)
		}
		got = append(got, by+"="+answer)
		l.Given = append(l.Given, by)
	}
	want := []string{
		"named (passphrase)=v2-long", "named (passphrase)=", "named (passphrase)=", "named=v2-long", "auto=v1-long", "=",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the answers are %q, want %q", got, want)
	}
	for name, kind := range map[string]term.Kind{"db": term.PolicyDenied, "sudo": term.PolicyDenied, "x": term.NotFound} {
		l := login
		l.Secret = name
		if _, by, err := s.Answer(t.Context(), l, password); by != "" || !errors.Is(err, kind) || !s.Expects(l) {
			t.Errorf("secret %s answers from %q, %v; want %s", name, by, err, kind)
		}
	}
}

// Check refuses the requests that Release would refuse, and counts no use.
func TestCheck(t *testing.T) {
	var seen []term.Event
	s := NewStore([]Definition{
		{Name: "sudo", Source: value(""), Hosts: []string{"web1"}, PerHour: 1},
		{Name: "http", Source: value(""), Hosts: []string{"web1"}, Callers: []string{"http"}},
		{Name: "cmd", Source: value(""), Hosts: []string{"web1"}, Commands: func(_ context.Context, a term.Action) (term.Ruling, error) {
			if a.Command != "wc -c" {
				return term.Ruling{}, errors.New("not that")
			}
			return term.Ruling{Command: "'wc' '-c'"}, nil
		}},
	}, Options{Journal: func(e term.Event) error { seen = append(seen, e); return nil }})
	ctx := term.WithActor(t.Context(), term.Actor{Transport: "stdio"})
	for _, tt := range []struct {
		r        term.SecretRequest
		ruling   string
		err      string
		recorded int
	}{
		{term.SecretRequest{Name: "sudo", Sudo: true}, "", "", 0},
		{term.SecretRequest{Name: "sudo", Sudo: true}, "", "", 0}, // none was used
		{term.SecretRequest{Name: "sudo"}, "", "it names no commands", 1},
		{term.SecretRequest{Name: "http", Sudo: true}, "", "not for this caller", 1},
		{term.SecretRequest{Name: "none", Sudo: true}, "", "no secret of that name", 0},
		{term.SecretRequest{Name: "cmd", Action: term.Action{Command: "wc -c"}}, "'wc' '-c'", "", 0},
		{term.SecretRequest{Name: "cmd", Action: term.Action{Command: "wc -c; cat"}}, "", "not that", 1},
	} {
		seen = nil
		tt.r.Use, tt.r.Peer = term.SecretStdin, peerOf(login)
		ruling, err := s.Check(ctx, tt.r)
		if ruling.Command != tt.ruling || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) ||
			len(seen) != tt.recorded {
			t.Errorf("Check(%+v) = %+v, %v with %d records; want %q, %q, %d", tt.r, ruling, err, len(seen), tt.ruling, tt.err,
				tt.recorded)
		}
	}
	if list := s.List(ctx); len(list) != 2 || list[0].Name != "sudo" || list[1].Name != "cmd" {
		t.Errorf("the caller's list is %+v, want sudo and cmd", list)
	}
}

// Each use is on record before the value is fetched, without the value, and a use that cannot be is refused.
func TestRecord(t *testing.T) {
	var seen []term.Event
	var fails error
	s := NewStore([]Definition{{Auto: true, Name: "pw", Source: value("hunter2"), Hosts: []string{"web1"}}}, Options{
		Journal: func(e term.Event) error { seen = append(seen, e); return fails },
	})
	ctx := term.WithActor(t.Context(), term.Actor{Client: "agent"})
	if _, by, err := s.Answer(ctx, login, password); by != "pw" || err != nil {
		t.Fatalf("the answer is from %q, %v; want pw", by, err)
	}
	unproven := login
	unproven.HostKey = term.HostKeyAccepted
	_, _, refused := s.Answer(ctx, unproven, password)
	fails = errors.New("disk full")
	_, by, err := s.Answer(ctx, login, password)
	if by != "" || !errors.Is(err, fails) || !strings.Contains(err.Error(), "cannot be put on record") {
		t.Errorf("a use that cannot be recorded is answered from %q, %v; want an error", by, err)
	}
	if len(seen) != 3 || seen[0].Refused != nil || !errors.Is(seen[1].Refused, refused) || refused == nil {
		t.Fatalf("on record are %+v, want two uses and a refusal", seen)
	}
	for _, e := range seen {
		if e.Verb != term.VerbSecret || e.Actor.Client != "agent" || strings.Contains(e.Detail, "hunter2") ||
			!strings.HasPrefix(e.Detail, "pw for the login of deploy at 192.0.2.1:22, question sha256:") {
			t.Errorf("on record is %+v", e)
		}
	}
}

// The uses of an hour are limited; a refused one does not count.
func TestPerHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewStore([]Definition{{Auto: true, Name: "pw", Source: value("value-v"), Hosts: []string{"*"}, PerHour: 2}}, Options{})
		var got []bool
		for _, wait := range []int{0, 30, 10, 19, 1, 1, 30} {
			time.Sleep(time.Duration(wait) * time.Minute)
			_, by, err := s.Answer(t.Context(), login, password)
			if (by == "") != errors.Is(err, term.PolicyDenied) {
				t.Errorf("the answer is from %q, %v", by, err)
			}
			got = append(got, by != "")
		}
		if want := []bool{true, true, false, false, true, false, true}; !slices.Equal(got, want) {
			t.Errorf("uses after 0, 30, 40, 59, 60, 61 and 91 minutes were permitted: %v, want %v", got, want)
		}
	})
}
