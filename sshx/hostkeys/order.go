package hostkeys

import (
	"slices"

	"golang.org/x/crypto/ssh"
)

// certifiedTypes maps the certificate algorithms (PROTOCOL.certkeys) to the type of the
// certified key.
var certifiedTypes = map[string]string{
	ssh.CertAlgoRSAv01:             ssh.KeyAlgoRSA,
	ssh.CertAlgoRSASHA256v01:       ssh.KeyAlgoRSA,
	ssh.CertAlgoRSASHA512v01:       ssh.KeyAlgoRSA,
	"ssh-dss-cert-v01@openssh.com": "ssh-dss", // x/crypto deprecates its constant, but a file may have such a key
	ssh.CertAlgoECDSA256v01:        ssh.KeyAlgoECDSA256,
	ssh.CertAlgoECDSA384v01:        ssh.KeyAlgoECDSA384,
	ssh.CertAlgoECDSA521v01:        ssh.KeyAlgoECDSA521,
	ssh.CertAlgoED25519v01:         ssh.KeyAlgoED25519,
	ssh.CertAlgoSKECDSA256v01:      ssh.KeyAlgoSKECDSA256,
	ssh.CertAlgoSKED25519v01:       ssh.KeyAlgoSKED25519,
	ssh.CertAlgoMLDSA44v01Go:       ssh.KeyAlgoMLDSA44,
	ssh.CertAlgoMLDSA65v01Go:       ssh.KeyAlgoMLDSA65,
	ssh.CertAlgoMLDSA87v01Go:       ssh.KeyAlgoMLDSA87,
}

// plainType returns the type of the plain key for a negotiated algorithm. An ssh-rsa key
// signs with three algorithms (RFC 8332 section 3), and a certificate may have to replace its
// plain key.
func plainType(algorithm string) string {
	if algorithm == ssh.KeyAlgoRSASHA256 || algorithm == ssh.KeyAlgoRSASHA512 {
		return ssh.KeyAlgoRSA
	}
	if t, ok := certifiedTypes[algorithm]; ok {
		return t
	}
	return algorithm
}

// isCertificate reports whether the algorithm is one for certificates.
func isCertificate(algorithm string) bool {
	_, ok := certifiedTypes[algorithm]
	return ok
}

// Algorithms returns the host key algorithms in the order to offer: first those of keys on
// record, and those for certificates if an authority is on record, then the others, each
// group in the given order. It does not add or drop any. The order stays if the first
// algorithm already belongs to a key on record.
//
// defaults should be the default list, possibly changed by "+" or "-"; it must not be a
// HostKeyAlgorithms list of the user's own.
func (v *Verifier) Algorithms(defaults []string) []string {
	types := make(map[string]bool)
	hasAuthority := false
	for _, e := range v.wanted() {
		if e.Marker == CertAuthority {
			hasAuthority = true
		} else {
			types[e.Type] = true
		}
	}
	if len(defaults) == 0 || types[plainType(defaults[0])] {
		return slices.Clone(defaults)
	}
	first, last := make([]string, 0, len(defaults)), []string(nil)
	for _, a := range defaults {
		if types[plainType(a)] || hasAuthority && isCertificate(a) {
			first = append(first, a)
		} else {
			last = append(last, a)
		}
	}
	return append(first, last...)
}

// Admits reports whether any key could be accepted without a question: because the policy accepts a new host, or because
// the files have a line of this one. Verify still decides about the key that the server shows.
func (v *Verifier) Admits() bool {
	return v.o.Policy == AcceptNew || v.o.Policy == Disabled || v.o.NoHostAuthenticationForLocalhost ||
		v.o.Fingerprint != "" && v.o.Floor >= AcceptNew || len(v.wanted()) > 0
}

// wanted returns the lines with the keys that the server should show: recorded lines that the
// caller's files also have, else the recorded lines, else the caller's. A pinned key on
// record is the only one.
func (v *Verifier) wanted() []entry {
	record, callers := v.usable(v.known.record), v.usable(v.known.callers)
	if len(record) == 0 {
		return callers
	}
	both := slices.DeleteFunc(slices.Clone(record), func(e entry) bool {
		return !slices.ContainsFunc(callers, func(c entry) bool { return sameKey(c.key, e.key) })
	})
	if len(both) > 0 {
		return both
	}
	return record
}

// usable returns the lines of the name, or else of the bare name, that can confirm a key.
func (v *Verifier) usable(l lines) []entry {
	usable := func(entries []entry) []entry {
		return slices.DeleteFunc(slices.Clone(entries), func(e entry) bool {
			return e.Marker == Revoked || isRevoked(entries, e) ||
				v.o.Fingerprint != "" && e.Fingerprint != v.o.Fingerprint
		})
	}
	if entries := usable(l.name); len(entries) > 0 {
		return entries
	}
	return usable(l.bare)
}

// isRevoked reports whether one of the entries revokes the key of e.
func isRevoked(entries []entry, e entry) bool {
	return slices.ContainsFunc(entries, func(r entry) bool { return r.Marker == Revoked && sameKey(r.key, e.key) })
}
