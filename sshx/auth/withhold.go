package auth

import (
	"cmp"
	"fmt"
	"sync"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"ptyctl/term"
)

// This file withholds credentials that the operator's rules do not allow at a
// host. Each credential is checked directly before its use, when the host's key
// is known.

// A withholding decides on one connection which credentials must not be used.
type withholding struct {
	may   term.CredentialGrant
	proof term.HostKeyProof // of the host's key
	rule  string            // the last rule that withheld a credential
	h     *Account
}

// A Trial reports the credentials that a login would withhold, instead of
// withholding them: each one once, for any number of logins.
type Trial struct {
	Report   func(credential string, why error)
	reported sync.Map
}

// refuses returns why a credential must not be used under the condition, or "" if
// it may.
func (w *withholding) refuses(credential string, c term.CredentialCondition) string {
	var why string
	switch {
	case !w.may.Ruled:
		return ""
	case c.Never:
		why = cmp.Or(c.Why, "it may not be used at this host")
	case c.HostKey == term.HostKeyPinned && w.proof != term.HostKeyPinned:
		why = "it may be used only if the host key is on the operator's record and its fingerprint is given " +
			"with the call"
	case c.HostKey == term.HostKeyRecorded && w.proof == term.HostKeyAccepted:
		why = "it may be used only if the host key was on the operator's record before"
	default:
		return ""
	}
	why = fmt.Sprintf("%s (%s)", why, c.Rule)
	// Rules on trial are reported but not enforced.
	if t := w.h.Tried; t != nil {
		if _, again := t.reported.LoadOrStore(credential, true); !again {
			t.Report(credential+" at "+w.h.Name, &term.Error{
				Kind: term.PolicyDenied, Msg: credential + " would be withheld: " + why,
				Facts: term.Facts{term.ConnectFailure{Hop: w.h.Name}, term.Denial{Rule: c.Rule}},
			})
		}
		return ""
	}
	w.rule = c.Rule
	return why
}

// key is refuses for a key, in the agent or not.
func (w *withholding) key(key ssh.PublicKey, fromAgent bool) string {
	print := ssh.FingerprintSHA256(plainKey(key))
	c, named := w.may.Keys[print]
	switch {
	case named:
	case fromAgent:
		c = w.may.Agent
	default:
		c = w.may.OtherKeys
	}
	return w.refuses("key "+print, c)
}

// agent is refuses for forwarding the whole agent: the host could then use every
// key in it, so the rules of all keys must allow it.
func (w *withholding) agent() string {
	const lent = "the forwarded agent"
	generic := func(c term.CredentialCondition) term.CredentialCondition { // the reason would name a single key
		c.Why = ""
		return c
	}
	why := w.refuses(lent, generic(w.may.Agent))
	for _, c := range w.may.Keys {
		if why == "" {
			why = w.refuses(lent, generic(c))
		}
	}
	return why
}

// plainKey returns the key in a certificate, or the key itself.
func plainKey(key ssh.PublicKey) ssh.PublicKey {
	if k, ok := key.(*agent.Key); ok {
		if parsed, err := ssh.ParsePublicKey(k.Blob); err == nil {
			key = parsed
		}
	}
	if c, ok := key.(*ssh.Certificate); ok {
		return c.Key
	}
	return key
}
