package policy

import (
	"strings"
	"testing"
)

func TestCredentialValidate(t *testing.T) {
	const key = "key:SHA256:qRdtNWeJXGvlvrPvvLLDVzwM9g3ePMYn1vcKEcmTXj4"
	for _, c := range []Credential{
		{Source: "agent"},
		{Source: "password", Users: []string{"root"}, HostKey: "pinned"},
		{Source: key, Hosts: []string{"web*"}, HostKey: "recorded"},
	} {
		if _, err := New(Rules{Credentials: []Credential{c}}); err != nil {
			t.Errorf("New with %+v = %v, want an error exactly for invalid entries", c, err)
		}
	}
	for want, c := range map[string]Credential{
		`source is ""`:                       {},
		`source is "key:MD5:00"`:             {Source: "key:MD5:00"},
		`source is "` + key + `="`:           {Source: key + "="},
		`(rules.toml:3): a pattern is empty`: {Source: "agent", Hosts: []string{"a", " "}, Where: "rules.toml:3"},
		`(rules.toml:4): a pattern is empty`: {Source: "agent", Users: []string{""}, Where: "rules.toml:4"},
		`host_key is "known"; give recorded`: {Source: "agent", HostKey: "known"},
	} {
		if _, err := New(Rules{Credentials: []Credential{c}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New with %+v: %v, want an error with %q", c, err, want)
		}
	}
}

// TestCredentialIsShown checks that the rules for people include credentials.
func TestCredentialIsShown(t *testing.T) {
	r := Rules{
		Credentials: []Credential{
			{Source: "agent", Hosts: []string{"web*", "db"}, Users: []string{"deploy"}, HostKey: "recorded", Name: "policy.credential", Where: "f:2"},
		},
	}
	want := `policy.credential "agent at web*, db for deploy, host key recorded" (f:2)`
	if all := r.All(); len(all) == 0 || all[0].String() != want {
		t.Errorf("All() = %v, want first %s", all, want)
	}
}
