package auth

import (
	"errors"
	"os"
	"slices"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/term"
)

// Credentials are the credentials available at one host.
type Credentials struct {
	// From the call; empty for a jump host, which must not receive them.
	Method     string // the caller's auth.method: "", "auto", "password", "private_key", "agent"
	Password   term.Secret
	PrivateKey term.Secret
	Passphrase term.Secret

	// From ssh_config and the operator's options.
	Preferred      []string // authentication methods, the preferred one first
	IdentityFiles  []string
	Certificates   []string
	IdentitiesOnly bool
	Agent          AgentAt
	Signers        []ssh.Signer  // of the operator: offered after the call's key, before the agent's
	Prompts        int           // most attempts by password or question
	Batch          bool          // never ask
	Refused        []string      // fingerprints of keys that must not be offered again
	Offered        []string      // their names, for a message
	Notes          []string      // problems with these credentials, for a message
	Signer         ssh.Signer    // of PrivateKey, if it could be read without a question
	AddKeys        string        // AddKeysToAgent: no, yes, ask or confirm
	AddLifetime    time.Duration // lifetime in the agent; 0 for no limit
}

// Sources returns the names of the credentials available at a host, for the audit
// record.
func (c *Credentials) Sources() []string {
	var list []string
	if c.Method != "password" && slices.Contains(c.Preferred, MethodPublicKey) {
		if c.offersPrivateKey() {
			list = append(list, "the caller's key")
		}
		if len(c.Signers) > 0 && c.offersSigners() {
			list = append(list, "keys of this program")
		}
		if c.Agent.Any() && c.Method != "private_key" {
			list = append(list, "agent")
		}
		for _, path := range c.IdentityFiles {
			if _, err := os.Stat(path); err == nil && c.Method != "private_key" && c.Method != "agent" {
				list = append(list, "key "+path)
			}
		}
	}
	if c.Method == "password" || slices.Contains(c.Preferred, MethodPassword) ||
		slices.Contains(c.Preferred, MethodKeyboard) {
		if c.Password != "" {
			list = append(list, "the caller's password")
		} else if !c.Batch {
			list = append(list, "answers")
		}
	}
	return list
}

// offersPrivateKey reports whether the private key of the call is offered: before all others, or alone.
func (c *Credentials) offersPrivateKey() bool {
	return c.Method == "private_key" || c.PrivateKey != "" && (c.Method == "auto" || c.Method == "")
}

// offersSigners reports whether the operator's signers are offered.
func (c *Credentials) offersSigners() bool { return c.Method != "private_key" && c.Method != "agent" }

// An Account is the place to log in, and the credentials for it.
type Account struct {
	Name string // user@host:port, for messages
	User string
	Host string

	Cred        Credentials
	PubkeyAlgos []string             // signature algorithms, the preferred one first
	May         term.CredentialGrant // the credentials that the policy grants
	Tried       *Trial               // reports credentials that may would withhold; nil: they are withheld
}

// String returns the account's name in messages.
func (h *Account) String() string { return h.Name }

// An Asker puts the questions of a login to a person.
type Asker interface {
	// CanAsk reports whether a person can be asked.
	CanAsk() bool
	// Ask returns the answer. The error is ErrCannotAsk if questions are not possible. Any
	// other error is a *term.Error and ends the login.
	Ask(q term.Prompt) (string, error)
}

// ErrCannotAsk is the error of a question that cannot be asked.
var ErrCannotAsk = errors.New("questions are not possible (not allowed, or BatchMode is on)")
