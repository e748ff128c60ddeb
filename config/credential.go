package config

import (
	"fmt"
	"regexp"
)

// Credential says at which hosts a login may use one kind of proof.
type Credential struct {
	Entry
	Source  string   // "agent", "password", or "key:" and the key's fingerprint
	Hosts   []string // patterns; empty: any
	Users   []string // patterns; empty: any
	HostKey HostKeyProof
}

// HostKeyProof says how the host's key must be known before a credential is used.
type HostKeyProof string

// The proofs. Without one, what ssh.host_key_policy accepts is enough.
const (
	HostKeyRecorded HostKeyProof = "recorded" // in the operator's known_hosts
	HostKeyPinned   HostKeyProof = "pinned"   // recorded, and the call names its fingerprint
)

// kinds declares every table of which the file may hold any number, as table declares the keys.
func kinds(c *Config, home string) []kind {
	return []kind{
		list(&c.Policy.Credential, "policy.credential",
			"What a login may prove itself with, and where; if there is any such table, nothing else is used.",
			func(e *Credential) []row {
				return []row{
					text(
						&e.Source,
						"source",
						"",
						"One key, wherever it is; the keys of the SSH agent that have no entry of their own; or passwords and other answers.",
					).
						checked(credentialSource).
						required(credentialForm, `"key:SHA256:qRdtNWeJXGvlvrPvvLLDVzwM9g3ePMYn1vcKEcmTXj4"`),
					words(
						&e.Hosts,
						"hosts",
						"The hosts that it may be used at, with * and ?; empty is all that may be opened.",
					).example(`["web*", "db1"]`),
					words(
						&e.Users,
						"users",
						"The users there that it may be used for, with * and ?; empty is all.",
					).example(`["deploy"]`),
					enum(
						&e.HostKey,
						"host_key",
						"",
						"What must be known of the host's key: recorded in known_hosts, or also pinned by a fingerprint; empty is what ssh.host_key_policy accepts.",
						"",
						HostKeyRecorded,
						HostKeyPinned,
					).example(`"recorded"`),
				}
			}),
	}
}

const credentialForm = "agent, password, or key:SHA256: and a fingerprint as ssh-keygen -l prints it"

var credentialSourceForm = regexp.MustCompile(`^(agent|password|key:SHA256:[A-Za-z0-9+/]{43})$`)

func credentialSource(text string) error {
	if !credentialSourceForm.MatchString(text) {
		return fmt.Errorf("is %s; give %s", show(text), credentialForm)
	}
	return nil
}
