package ssh

import (
	"fmt"
	"strings"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/secret"
	"ptyctl/secret/source"
	"ptyctl/term"
)

// keep makes a secret whose value is in a file of the operator's.
func keep(t *testing.T, o *lab.Operator, name, kind, value, host, user string) secret.Definition {
	t.Helper()
	s, err := source.Parse(kind+"file:"+o.Write(name, value+"\n"), source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return secret.Definition{
		Name: name, Source: s, OneTime: kind == "totp:", Hosts: []string{host}, Users: []string{user}, Auto: true,
	}
}

// A login through two bastions takes a password at each of three hosts and a code at the second, each from its own secret,
// and asks no question.
func labSecrets(t *testing.T, l *lab.Namespace) {
	const word = "PasswordAuthentication yes\nAuthenticationMethods password\nAllowUsers "
	first := l.SSHD(t, lab.ServerConfig{PAM: lab.PAMPassword, Config: word + "bob"})
	second := l.SSHD(t, lab.ServerConfig{
		PAM:    lab.PAMPasswordCode,
		Config: "AllowUsers carol\nKbdInteractiveAuthentication yes\nAuthenticationMethods keyboard-interactive",
	})
	target := l.SSHD(t, lab.ServerConfig{PAM: lab.PAMPassword, Config: word + "alice"})
	o := l.Operator(t, first, second, target)
	o.Write("config", fmt.Sprintf("Host first\n\tPort %d\n\tUser bob\nHost second\n\tPort %d\n\tUser carol\n\tProxyJump first\n"+
		"Host target\n\tPort %d\n\tUser alice\n\tProxyJump second\nHost *\n\tHostName 127.0.0.1\n", first.Port, second.Port, target.Port))
	var uses []term.Event
	o.Options.Answerer = secret.NewStore([]secret.Definition{
		keep(t, o, "first-pw", "", l.Users["bob"].Password, "first", "bob"),
		keep(t, o, "second-code", "totp:", lab.OneTimeKey(), "second", "carol"),
		keep(t, o, "second-pw", "", l.Users["carol"].Password, "second", "carol"),
		keep(t, o, "target-pw", "", l.Users["alice"].Password, "target", "alice"),
	}, secret.Options{Journal: func(e term.Event) error { uses = append(uses, e); return nil }})

	s := o.MustOpen(term.Target{Protocol: "ssh", Host: "target", Auth: term.Auth{NoInteractive: true}})
	lab.WantExec(t, s, "id -un", "alice\n", 0)
	var names []string
	for _, e := range uses {
		names = append(names, strings.Fields(e.Detail)[0])
	}
	if got, want := strings.Join(names, " "), "first-pw second-pw second-code target-pw"; got != want {
		t.Errorf("the secrets used are %s, want %s", got, want)
	}

	// A host that the operator's settings do not lead to gets nothing, whatever the call calls it.
	uses = nil
	o.Refused(term.Target{
		Protocol: "ssh", Host: "127.0.0.1", Port: target.Port, User: "alice", Auth: term.Auth{NoInteractive: true},
	}, term.AuthFailed)
	// A wrong value is sent once.
	o.Options.Answerer = secret.NewStore([]secret.Definition{keep(t, o, "wrong", "", "a wrong one-1138", "first", "bob")},
		secret.Options{Journal: func(e term.Event) error { uses = append(uses, e); return nil }})
	o = l.OperatorLike(t, o)
	o.Refused(term.Target{Protocol: "ssh", Host: "first", Auth: term.Auth{NoInteractive: true}}, term.AuthFailed)
	if len(uses) != 1 {
		t.Errorf("uses on record are %+v, want one of the wrong value", uses)
	}
	// Then the person is asked.
	s = o.MustAsk(term.Target{Protocol: "ssh", Host: "first"}, `password: `)
	lab.AnswerLogin(t, s, l.Users["bob"].Password)
	lab.WantOpen(t, s)
}

// A host with another key than the record's gets no secret, even where the host key policy lets the login go on.
func labSecretAtChangedHost(t *testing.T, l *lab.Namespace) {
	server := l.SSHD(t, lab.ServerConfig{PAM: lab.PAMPassword, Config: "PasswordAuthentication yes"})
	o := l.Operator(t)
	o.Write("config", fmt.Sprintf("Host web1\n\tHostName 127.0.0.1\n\tPort %d\n\tUser bob\n", server.Port))
	o.Options.HostKeyPolicy, o.Options.HostKeyFloor = "accept_new", "accept_new"
	bob := l.Users["bob"]
	o.Options.Answerer = secret.NewStore([]secret.Definition{keep(t, o, "pw", "", bob.Password, "web1", "bob")}, secret.Options{})
	wish := term.Target{Protocol: "ssh", Host: "web1", Auth: term.Auth{NoInteractive: true}}
	if e := o.Refused(wish, term.PolicyDenied); !strings.Contains(e.Error(), "not on the operator's record before this login") {
		t.Errorf("a host that is not on record fails with %v, want the condition", e)
	}
	if line := server.Log.Find(`password for bob`); line != "" {
		t.Errorf("a host that is not on record was sent a password: %s", line)
	}
	s := o.MustOpen(wish) // now it is
	lab.WantExec(t, s, "id -un", "bob\n", 0)

	other := l.SSHD(t, lab.ServerConfig{PAM: lab.PAMPassword, Config: "PasswordAuthentication yes"})
	o.Write("config", fmt.Sprintf("Host web1\n\tHostName 127.0.0.1\n\tPort %d\n\tHostKeyAlias [127.0.0.1]:%d\n\tUser bob\n",
		other.Port, server.Port))
	o = l.OperatorLike(t, o)
	o.Refused(wish, term.HostKeyMismatch)
	if line := other.Log.Find(`password for bob`); line != "" {
		t.Errorf("a host with another key was sent a password: %s", line)
	}
}
