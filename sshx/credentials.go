package sshx

import (
	"errors"
	"os"
	"slices"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/term"
)

// credentials are the credentials available at one hop.
type credentials struct {
	// From the call; empty for a jump host, which must not receive them.
	method     string // the caller's auth.method: "", "auto", "password", "private_key", "agent"
	password   term.Secret
	privateKey term.Secret
	passphrase term.Secret

	// From ssh_config and the operator's options.
	preferred      []string // authentication methods, the preferred one first
	identityFiles  []string
	certificates   []string
	identitiesOnly bool
	agentSocket    string        // empty for no agent
	prompts        int           // most attempts by password or question
	batch          bool          // never ask
	refused        []string      // fingerprints of keys that must not be offered again
	notes          []string      // problems with these credentials, for a message
	signer         ssh.Signer    // privateKey, if it could be read without a question
	addKeys        string        // AddKeysToAgent: no, yes, ask or confirm
	addLifetime    time.Duration // lifetime in the agent; 0 for no limit
}

// sources returns the names of the credentials available at a hop, for the audit
// record.
func (c *credentials) sources() []string {
	var list []string
	if c.method != "password" && slices.Contains(c.preferred, methodPublicKey) {
		if c.method == "private_key" {
			list = append(list, "the caller's key")
		} else if c.agentSocket != "" {
			list = append(list, "agent")
		}
		for _, path := range c.identityFiles {
			if _, err := os.Stat(path); err == nil && c.method != "private_key" && c.method != "agent" {
				list = append(list, "key "+path)
			}
		}
	}
	if c.method == "password" || slices.Contains(c.preferred, methodPassword) ||
		slices.Contains(c.preferred, methodKeyboard) {
		if c.password != "" {
			list = append(list, "the caller's password")
		} else if !c.batch {
			list = append(list, "answers")
		}
	}
	return list
}

// An account is where to log in, and with what.
type account struct {
	name string // user@host:port, for messages
	user string
	host string

	cred        credentials
	pubkeyAlgos []string             // signature algorithms, the preferred one first
	may         term.CredentialGrant // the credentials that the policy grants
	tried       *trial               // reports credentials that may would withhold; nil: they are withheld
}

// String returns the account's name in messages.
func (h *account) String() string { return h.name }

// An asker puts the questions of a login to a person.
type asker interface {
	// canAsk reports whether a person can be asked.
	canAsk() bool
	// ask returns the answer. The error is errCannotAsk if questions are not possible. Any
	// other error is a *term.Error and ends the login.
	ask(q term.Prompt) (string, error)
}

// errCannotAsk is the error of a question that cannot be asked.
var errCannotAsk = errors.New("questions are not possible (not allowed, or BatchMode is on)")
