package config

import (
	"fmt"

	"ptyctl/internal/lazyregexp"
)

// Credential lists the hosts at which a login may use one kind of proof.
type Credential struct {
	Entry
	Source  string   // "agent", "password", or "key:" and the key's fingerprint
	Hosts   []string // patterns; empty: all
	Users   []string // patterns; empty: all
	HostKey HostKeyProof
}

// HostKeyProof is the check of the host's key that a credential requires.
type HostKeyProof string

// Values of HostKeyProof. Empty means that ssh.host_key_policy alone decides.
const (
	HostKeyRecorded HostKeyProof = "recorded" // the operator's known_hosts has the key
	HostKeyPinned   HostKeyProof = "pinned"   // recorded, and the call names its fingerprint
)

// kinds declares the tables that the file may repeat, as table declares the keys.
func kinds(c *Config, home string) []kind {
	return []kind{
		list(&c.Policy.Credential, "policy.credential",
			"A proof that a login may use, and where; if there is any such table, no other proof is used.",
			func(e *Credential) []row {
				return []row{
					text(
						&e.Source,
						"source",
						"",
						"One key, from any source; all keys of the SSH agent without an entry of their own; or passwords and other "+
							"answers.",
					).
						checked(credentialSource).
						required(credentialForm, `"key:SHA256:qRdtNWeJXGvlvrPvvLLDVzwM9g3ePMYn1vcKEcmTXj4"`),
					words(
						&e.Hosts,
						"hosts",
						"Hosts at which it may be used, with * and ?; empty is all.",
					).example(`["web*", "db1"]`),
					words(
						&e.Users,
						"users",
						"Users for which it may be used, with * and ?; empty is all.",
					).example(`["deploy"]`),
					enum(
						&e.HostKey,
						"host_key",
						"",
						"Required proof of the host's key: recorded in known_hosts, or also pinned by a fingerprint; empty accepts "+
							"the same as ssh.host_key_policy.",
						"",
						HostKeyRecorded,
						HostKeyPinned,
					).example(`"recorded"`),
				}
			}),
		secretTable(c, home),
		groupTable(c),
		oauthTable(c),
	}
}

// credentialForm describes a valid source in messages.
const credentialForm = "agent, password, or key:SHA256: and a fingerprint as ssh-keygen -l prints it"

// credentialSourceForm matches a valid source. The fingerprint is the SHA-256 of the key in
// base64 without padding.
var credentialSourceForm = lazyregexp.New(`^(agent|password|key:SHA256:[A-Za-z0-9+/]{43})$`)

// credentialSource checks the form of a credential's source.
func credentialSource(text string) error {
	if !credentialSourceForm.MatchString(text) {
		return fmt.Errorf("is %s; give %s", show(text), credentialForm)
	}
	return nil
}
