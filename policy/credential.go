package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ptyctl/internal/lazyregexp"
)

// A Credential allows one source of credentials at some hosts. If there is any
// Credential, a login may use no other source.
type Credential struct {
	// Source is "agent" for keys of the agent that have no entry of their own,
	// "password" for passwords and all other answers to a host's questions, or
	// "key:" and the fingerprint of a key from any source.
	Source string

	Hosts, Users []string // patterns with * and ?; empty: all
	HostKey      string   // "recorded" in known_hosts, or also "pinned" by the caller; empty: the policy for keys
	Name, Where  string   // as those of a Rule; may be empty
}

// credentialSource matches a valid Source.
var credentialSource = lazyregexp.New(`^(agent|password|key:SHA256:[A-Za-z0-9+/]{43})$`)

// Validate returns an error for a Credential that could never be used.
func (c Credential) Validate() error {
	empty := func(pattern string) bool { return strings.TrimSpace(pattern) == "" }
	switch {
	case !credentialSource.MatchString(c.Source):
		return fmt.Errorf(
			"%s: source is %q; give agent, password, or key: and a fingerprint as ssh-keygen -l prints it",
			c.Rule(),
			c.Source,
		)
	case slices.ContainsFunc(c.Hosts, empty) || slices.ContainsFunc(c.Users, empty):
		return fmt.Errorf("%s: a pattern is empty; remove it", c.Rule())
	case c.HostKey != "" && c.HostKey != "recorded" && c.HostKey != "pinned":
		return fmt.Errorf("%s: host_key is %q; give recorded or pinned", c.Rule(), c.HostKey)
	}
	return nil
}

// Rule returns the Credential as an entry of the rules, for messages.
func (c Credential) Rule() Rule {
	text := c.Source
	if len(c.Hosts) > 0 {
		text += " at " + strings.Join(c.Hosts, ", ")
	}
	if len(c.Users) > 0 {
		text += " for " + strings.Join(c.Users, ", ")
	}
	if c.HostKey != "" {
		text += ", host key " + c.HostKey
	}
	return Rule{Text: text, Name: cmp.Or(c.Name, nameCredential), Where: c.Where}
}
