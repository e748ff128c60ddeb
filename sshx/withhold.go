package sshx

import (
	"context"
	"fmt"
	"net"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"ptyctl/sshx/hostkeys"
	"ptyctl/term"
)

// This file holds back credentials that the operator's rules do not allow at a host. It is asked where each one would go
// out, when the host's key is known.

// prove returns a function that finds how a host's key is known to the operator. It reads the record now, before anything
// is added to it.
func (h *hop) prove(ip net.IP) (func(ssh.PublicKey) term.HostKeyProof, error) {
	if !h.may.Ruled {
		return func(ssh.PublicKey) term.HostKeyProof { return term.HostKeyAccepted }, nil
	}
	record, err := hostkeys.NewVerifier(h.host, h.port, ip, h.record)
	if err != nil {
		return nil, err
	}
	return func(key ssh.PublicKey) term.HostKeyProof {
		if err := record.Verify(context.Background(), key); err != nil { // strict: nobody is asked
			return term.HostKeyAccepted
		}
		if pin := strings.TrimRight(h.hostKeys.Fingerprint, "="); pin == "" || pin != record.Result().Fingerprint {
			return term.HostKeyRecorded
		}
		return term.HostKeyPinned
	}, nil
}

// A withholding decides, on one connection, which credentials are not used.
type withholding struct {
	may   term.CredentialGrant
	proof term.HostKeyProof // of the host's key
	rule  string            // the last one that withheld something
}

// refuses says why a credential may not be used on that condition; empty: it may.
func (w *withholding) refuses(c term.CredentialCondition) string {
	var why string
	switch {
	case !w.may.Ruled:
		return ""
	case c.Never:
		why = "it may not be used at this host"
	case c.HostKey == term.HostKeyPinned && w.proof != term.HostKeyPinned:
		why = "it may be used only if the host key is on the operator's record and its fingerprint is given with the call"
	case c.HostKey == term.HostKeyRecorded && w.proof == term.HostKeyAccepted:
		why = "it may be used only if the host key was on the operator's record before"
	default:
		return ""
	}
	w.rule = c.Rule
	return fmt.Sprintf("%s (%s)", why, c.Rule)
}

// key is refuses for a key, whether the agent holds it or not.
func (w *withholding) key(key ssh.PublicKey, fromAgent bool) string {
	c, named := w.may.Keys[ssh.FingerprintSHA256(plainKey(key))]
	switch {
	case named:
	case fromAgent:
		c = w.may.Agent
	default:
		c = w.may.OtherKeys
	}
	return w.refuses(c)
}

// agent is refuses for lending the whole agent to the host: with it go the keys that are ruled by themselves.
func (w *withholding) agent() string {
	why := w.refuses(w.may.Agent)
	for _, c := range w.may.Keys {
		if why == "" {
			why = w.refuses(c)
		}
	}
	return why
}

// plainKey returns the key that a certificate certifies, or the key itself.
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
