package hostkeys

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/crypto/ssh"
)

// The global requests by which a server announces its host keys and proves that it has them
// (PROTOCOL section 2.5 of OpenSSH).
const (
	HostKeysRequest      = "hostkeys-00@openssh.com"
	HostKeysProveRequest = "hostkeys-prove-00@openssh.com"
)

// maxAnnounced is the most keys in one announcement.
const maxAnnounced = 64

var errAnnouncement = errors.New("hostkeys: the server's " + HostKeysRequest + " announcement is malformed: ignore it")

// ParseHostKeys returns the plain keys in the payload of a HostKeysRequest: a sequence of
// strings with one key each. It omits certificates and unknown types.
func ParseHostKeys(payload []byte) ([]ssh.PublicKey, error) {
	var keys []ssh.PublicKey
	for n := 0; len(payload) > 0; n++ {
		blob, rest, ok := cutString(payload)
		if !ok || n == maxAnnounced {
			return nil, errAnnouncement
		}
		payload = rest
		key, err := ssh.ParsePublicKey(blob)
		if err != nil {
			continue
		}
		if _, ok := key.(*ssh.Certificate); ok {
			continue
		}
		if holdsKey(keys, key) {
			return nil, errAnnouncement
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// ProveRequest returns the payload of a HostKeysProveRequest for the keys.
func ProveRequest(keys []ssh.PublicKey) []byte {
	var payload []byte
	for _, k := range keys {
		payload = append(payload, ssh.Marshal(struct{ Key []byte }{k.Marshal()})...)
	}
	return payload
}

// VerifyProof checks the server's answer to ProveRequest(keys), one signature per key in the
// same order, and returns the proven keys. A bad signature invalidates the whole answer. An
// RSA signature with a weaker algorithm than the connection's invalidates its key only.
// sessionID is ssh.ConnMetadata.SessionID; algorithm is the host key algorithm of the key
// exchange.
func VerifyProof(answer, sessionID []byte, keys []ssh.PublicKey, algorithm string) ([]ssh.PublicKey, error) {
	var proven []ssh.PublicKey
	for i, k := range keys {
		blob, rest, ok := cutString(answer)
		if !ok {
			return nil, fmt.Errorf(
				"hostkeys: the server's proof ends before key %d of %d: keep the keys on record",
				i+1,
				len(keys),
			)
		}
		answer = rest
		var sig ssh.Signature
		if err := ssh.Unmarshal(blob, &sig); err != nil {
			return nil, fmt.Errorf(
				"hostkeys: the server's proof for key %d is malformed: keep the keys on record: %w",
				i+1,
				err,
			)
		}
		if k.Type() == ssh.KeyAlgoRSA && !slices.Contains(proofAlgorithms(algorithm), sig.Format) {
			continue
		}
		signed := ssh.Marshal(struct {
			Request   string
			SessionID []byte
			Key       []byte
		}{HostKeysProveRequest, sessionID, k.Marshal()})
		if err := k.Verify(signed, &sig); err != nil {
			return nil, fmt.Errorf("hostkeys: the server does not have its key %s %s: keep the keys on record: %w",
				k.Type(), ssh.FingerprintSHA256(k), err)
		}
		proven = append(proven, k)
	}
	if len(answer) > 0 {
		return nil, errors.New(
			"hostkeys: the server's proof has too many signatures: keep the keys on record",
		)
	}
	return proven, nil
}

// proofAlgorithms returns the signature algorithms accepted from RSA keys: that of the key
// exchange if it used RSA, otherwise those with SHA-2.
func proofAlgorithms(algorithm string) []string {
	switch algorithm {
	case ssh.KeyAlgoRSASHA512, ssh.CertAlgoRSASHA512v01:
		return []string{ssh.KeyAlgoRSASHA512}
	case ssh.KeyAlgoRSASHA256, ssh.CertAlgoRSASHA256v01:
		return []string{ssh.KeyAlgoRSASHA256}
	case ssh.KeyAlgoRSA, ssh.CertAlgoRSAv01:
		return []string{ssh.KeyAlgoRSA}
	}
	return []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
}

// cutString splits off one string of the SSH wire format (RFC 4251 section 5).
func cutString(b []byte) (s, rest []byte, ok bool) {
	var parts struct {
		S    []byte
		Rest []byte `ssh:"rest"`
	}
	if err := ssh.Unmarshal(b, &parts); err != nil {
		return nil, nil, false
	}
	return parts.S, parts.Rest, true
}

// holdsKey reports whether key is one of keys.
func holdsKey(keys []ssh.PublicKey, key ssh.PublicKey) bool {
	return slices.ContainsFunc(keys, func(k ssh.PublicKey) bool { return sameKey(k, key) })
}
