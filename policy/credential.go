package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A Credential says where one kind of proof may be used in logins. With any Credential in the rules, a login uses only what
// one of them admits for the host, the user, and how the host's key is known.
type Credential struct {
	Source       string   // "agent", "password", or "key:" and the key's fingerprint
	Hosts, Users []string // patterns with * and ?; empty: any
	HostKey      string   // HostKeyRecorded or HostKeyPinned; "": the host key policy is enough
	Where        string   // FILE:LINE; may be empty
}

// What Credential.HostKey may ask for.
const (
	HostKeyRecorded = "recorded" // the operator's known_hosts has the key
	HostKeyPinned   = "pinned"   // and the call names its fingerprint
)

var credentialSource = regexp.MustCompile(`^(agent|password|key:SHA256:[A-Za-z0-9+/]{43})$`)

// Validate refuses a Credential that can never be used.
func (c Credential) Validate() error {
	empty := func(pattern string) bool { return strings.TrimSpace(pattern) == "" }
	switch {
	case !credentialSource.MatchString(c.Source):
		return fmt.Errorf("%s: the source is %q; give agent, password, or key:SHA256: and a fingerprint", c.Rule(), c.Source)
	case slices.ContainsFunc(c.Hosts, empty) || slices.ContainsFunc(c.Users, empty):
		return fmt.Errorf("%s: a pattern is empty; remove it", c.Rule())
	case c.HostKey != "" && c.HostKey != HostKeyRecorded && c.HostKey != HostKeyPinned:
		return fmt.Errorf("%s: the host key is to be %q; give recorded or pinned, or leave it empty", c.Rule(), c.HostKey)
	}
	return nil
}

// Rule is the Credential as one entry of the rules, for messages.
func (c Credential) Rule() Rule {
	text := c.Source
	if len(c.Users) > 0 {
		text += " for " + strings.Join(c.Users, ", ")
	}
	if len(c.Hosts) > 0 {
		text += " at " + strings.Join(c.Hosts, ", ")
	}
	if c.HostKey != "" {
		text += ", host key " + c.HostKey
	}
	return Rule{Text: text, Name: "policy.credential", Where: c.Where}
}
