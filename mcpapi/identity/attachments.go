package identity

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode"

	"ptyctl/term"
)

const (
	nonceSize = 32
	proofSize = nonceSize + sha256.Size // of the part before the name

	maxPersonName = 100 // runes
)

// Attachments gives each person at a terminal an identity that no other caller can claim. Each gets a proof, which
// the client keeps secret and must show with every request. The id in the term.Attachment is derived from the proof
// and proves nothing, so it may be logged. A proof is checked with a key (HMAC), not stored:
// any number of attachments takes no memory.
type Attachments struct{ key [sha256.Size]byte }

// NewAttachments returns Attachments with a random key: they accept no proof that another value made.
func NewAttachments() *Attachments {
	a := new(Attachments)
	_, _ = rand.Read(a.key[:]) // never fails
	return a
}

// New returns the proof of a new attachment. name is for others to read, and cannot look like the name of a task that
// others know: it begins with "person".
func (a *Attachments) New(name string) (proof string) {
	var nonce [nonceSize]byte
	_, _ = rand.Read(nonce[:]) // never fails
	name = personName(name)
	raw := append(nonce[:], a.sum("proof", nonce[:], name)...)
	return base64.RawURLEncoding.EncodeToString(append(raw, name...))
}

// Of returns the attachment that a proof is of, and whether it is one that New has returned.
func (a *Attachments) Of(proof string) (term.Attachment, bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(proof)
	if err != nil || len(raw) < proofSize || strings.ContainsAny(proof, "\r\n") { // which the decoder ignores
		return term.Attachment{}, false
	}
	nonce, sum, name := raw[:nonceSize], raw[nonceSize:proofSize], string(raw[proofSize:])
	if !hmac.Equal(sum, a.sum("proof", nonce, name)) {
		return term.Attachment{}, false
	}
	return term.NewAttachment(hex.EncodeToString(a.sum("id", nonce, name)), name), true
}

// sum returns the keyed hash of an attachment. use separates the hashes of proofs and ids: an id must not help to forge
// a proof.
func (a *Attachments) sum(use string, nonce []byte, name string) []byte {
	mac := hmac.New(sha256.New, a.key[:])
	mac.Write([]byte(use + "\x00"))
	mac.Write(nonce) // of one length
	mac.Write([]byte(name))
	return mac.Sum(nil)
}

// personName is the name that other callers see for a person who calls themselves name.
func personName(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != unicode.ReplacementChar {
			return r
		}
		return -1
	}, name)
	if runes := []rune(name); len(runes) > maxPersonName {
		name = string(runes[:maxPersonName])
	}
	return strings.TrimSpace("person " + name)
}
