// Package proof shows which node of a cluster has written a shared text: its entry in the registry, the entry of one of
// its sessions, the end of its audit log.
//
//	p, err := proof.Read(credentials)                            // of this node's user of NATS
//	shown, err := p.Make(subject, name, public)                  // goes into the entry
//	err := p.Check(subject, name, public, shown)                 // at the other nodes
//	shown, err := p.Sign(proof.Session, subject, text)           // another text of the node with the entry at that subject
//	err := p.Verify(proof.Session, subject, text, shown)
//
// The right to write an entry is no proof: JetStream writes messages of one bucket to any subject that a client names,
// also to subjects of other buckets, whatever the rights of the client. So a node signs its name and its public key
// with the key of its user, and adds the user's token, in which the account lists the subjects that the user may
// publish to. The user who may publish the entry of a node is that node, also for its texts where all nodes may write.
package proof

import (
	"errors"
	"fmt"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// A Shown is the proof of a node, as its entry has it.
type Shown struct {
	User      string `json:"user"`      // the token of its user (a JWT), which holds no secret
	Signature []byte `json:"signature"` // Ed25519, by the key of the user
}

// A Prover has the credentials of this node. Make it with Read.
type Prover struct {
	token, issuer string
	keys          nkeys.KeyPair
}

// Read reads a file of credentials (.creds).
func Read(credentials []byte) (*Prover, error) {
	token, err := jwt.ParseDecoratedJWT(credentials)
	if err != nil {
		return nil, fmt.Errorf("proof: %w", err)
	}
	claims, err := jwt.DecodeUserClaims(token)
	if err != nil {
		return nil, fmt.Errorf("proof: the token of the credentials: %w", err)
	}
	keys, err := jwt.ParseDecoratedUserNKey(credentials)
	if err != nil {
		return nil, fmt.Errorf("proof: the key of the credentials: %w", err)
	}
	return &Prover{token, claims.Issuer, keys}, nil
}

// A Kind is the meaning of a signed text, so that one kind cannot be taken for another.
type Kind string

// The kinds of texts.
const (
	node    Kind = "node"
	Session Kind = "session" // the entry of a session of the node
	Claim   Kind = "claim"   // a session of the node goes on in place of another
	Anchor  Kind = "anchor"  // the end of the audit log of the node
)

// message is the text that a node signs. No part but the last has a zero byte.
func message(kind Kind, subject string, text []byte) []byte {
	return fmt.Appendf(nil, "ptyctl %s 1\x00%s\x00%s", kind, subject, text)
}

// named is the text of a node's name and its public key. A name has no zero byte.
func named(name string, public []byte) []byte { return fmt.Appendf(nil, "%s\x00%s", name, public) }

// Make returns the proof for a node with a name and a public key. The node writes its entry by publishing to subject.
func (p *Prover) Make(subject, name string, public []byte) (*Shown, error) {
	return p.Sign(node, subject, named(name, public))
}

// Sign returns the proof that a node has made a text. The node writes its entry by publishing to subject.
func (p *Prover) Sign(kind Kind, subject string, text []byte) (*Shown, error) {
	signature, err := p.keys.Sign(message(kind, subject, text))
	if err != nil {
		return nil, fmt.Errorf("proof: %w", err)
	}
	return &Shown{p.token, signature}, nil
}

// maxToken is the most bytes of a user's token.
const maxToken = 8 << 10

// Check returns nil if a node has shown that a user who may publish to the subject has made the entry, and that the
// user belongs to the account of this node's own user. If the rights of a user come from the scope of a signing key,
// its token names no rights, and so shows only the account.
func (p *Prover) Check(subject, name string, public []byte, shown *Shown) error {
	return p.Verify(node, subject, named(name, public), shown)
}

// Verify is Check for a text that Sign has signed.
func (p *Prover) Verify(kind Kind, subject string, text []byte, shown *Shown) error {
	switch {
	case shown == nil:
		return errors.New("it has no proof of its node: that has no credentials, as this one has")
	case len(shown.User) > maxToken:
		return fmt.Errorf("the token of its user has %d bytes, and at most %d are allowed", len(shown.User), maxToken)
	}
	claims, err := jwt.DecodeUserClaims(shown.User) // which checks the signature of the issuer
	if err != nil {
		return fmt.Errorf("the token of its user: %w", err)
	}
	if claims.Issuer != p.issuer {
		return fmt.Errorf("its user was made with the key %.60s, and that of this node with %s: all need the same", claims.Issuer, p.issuer)
	}
	if !may(claims.Pub, subject) {
		return fmt.Errorf("its user %.60q has no right to publish to %s", claims.Name, subject)
	}
	user, err := nkeys.FromPublicKey(claims.Subject)
	if err != nil {
		return fmt.Errorf("the key of its user: %w", err)
	}
	if user.Verify(message(kind, subject, text), shown.Signature) != nil {
		return fmt.Errorf("its user %.60q has not signed it", claims.Name)
	}
	return nil
}

// may reports whether a user may publish to a subject.
func may(rights jwt.Permission, subject string) bool {
	of := func(list jwt.StringList) bool {
		for _, s := range list {
			if jwt.Subject(subject).IsContainedIn(jwt.Subject(s)) {
				return true
			}
		}
		return false
	}
	return (len(rights.Allow) == 0 || of(rights.Allow)) && !of(rights.Deny)
}
