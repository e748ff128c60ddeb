package policy

import (
	"strings"
	"testing"
)

func TestCredentialValidate(t *testing.T) {
	const key = "key:SHA256:qRdtNWeJXGvlvrPvvLLDVzwM9g3ePMYn1vcKEcmTXj4"
	for _, c := range []Credential{
		{Source: "agent"},
		{Source: "password", Users: []string{"root"}, HostKey: HostKeyPinned},
		{Source: key, Hosts: []string{"web*"}, HostKey: HostKeyRecorded},
	} {
		if _, err := New(Rules{Credentials: []Credential{c}}); err != nil {
			t.Errorf("New with %+v: %v", c, err)
		}
	}
	for want, c := range map[string]Credential{
		`the source is ""`:                        {},
		`the source is "key:MD5:00"`:              {Source: "key:MD5:00"},
		`the source is "` + key + `="`:            {Source: key + "="},
		`(rules.toml:3): a pattern is empty`:      {Source: "agent", Hosts: []string{"a", " "}, Where: "rules.toml:3"},
		`"agent for " (rules.toml:3): a pattern`:  {Source: "agent", Users: []string{""}, Where: "rules.toml:3"},
		`the host key is to be "known"; give rec`: {Source: "agent", HostKey: "known"},
	} {
		if _, err := New(Rules{Credentials: []Credential{c}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New with %+v: %v, want an error with %q", c, err, want)
		}
	}
}

// TestCredentialIsShown looks for a credential among the rules that a person sees.
func TestCredentialIsShown(t *testing.T) {
	r := Rules{Credentials: []Credential{{Source: "agent", Hosts: []string{"web*", "db"}, Users: []string{"deploy"}, HostKey: HostKeyRecorded, Where: "f:2"}}}
	want := `policy.credential "agent for deploy at web*, db, host key recorded" (f:2)`
	if all := r.All(); len(all) == 0 || all[0].String() != want {
		t.Errorf("All() = %v, want first %s", all, want)
	}
}
