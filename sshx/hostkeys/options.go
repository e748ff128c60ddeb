package hostkeys

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

// Policy is the treatment of a key that the files do not confirm (StrictHostKeyChecking in
// ssh_config(5)). The policies are in order, each more lenient than the one before.
type Policy int

const (
	// Strict accepts only keys on record ("yes").
	Strict Policy = iota
	// Ask submits the key of an unrecorded host to Options.Ask, and records it after a yes
	// ("ask").
	Ask
	// AcceptNew accepts and records the key of an unrecorded host without a question
	// ("accept-new").
	AcceptNew
	// Disabled accepts every key that is not revoked, and records the key of an unrecorded host
	// ("no"). The caller must check Result.Changed.
	Disabled
)

// String returns the name used in messages.
func (p Policy) String() string {
	switch p {
	case Strict:
		return "strict"
	case AcceptNew:
		return "accept_new"
	case Ask:
		return "ask"
	case Disabled:
		return "disabled"
	}
	return fmt.Sprintf("Policy(%d)", int(p))
}

// Options configures a Verifier. The zero value is a strict check without files: it accepts
// no key. Paths are used unchanged: the caller must have expanded "~" and tokens and removed
// "none".
type Options struct {
	Policy Policy

	// UserFiles and GlobalFiles are searched in this order (UserKnownHostsFile and
	// GlobalKnownHostsFile). Their lines about a host decide. A missing file is no error.
	UserFiles   []string
	GlobalFiles []string

	// KnownHosts are lines in the format of a file. They are searched before UserFiles, and an Entry of them has the
	// File "KnownHosts". New keys are not added to them.
	KnownHosts []byte

	// CallerFiles were named by a caller, who may narrow the files above but not widen them. A
	// key must not contradict their lines either. If the files above have no line about a host,
	// these files confirm it if Floor allows.
	CallerFiles []string

	// Floor is the most lenient policy that the caller can reach by Fingerprint and CallerFiles.
	// At Strict and Ask neither of them admits a host without a line in UserFiles and
	// GlobalFiles.
	Floor Policy

	// RecordFile is the file for new keys. Empty means UserFiles[0].
	RecordFile string

	// RevokedFiles list keys that are always refused, one public key per line (RevokedHostKeys).
	// Each must exist and be readable in full. Binary key revocation lists (KRL) are not
	// supported.
	RevokedFiles []string

	// ReadOnly forbids writing to the files; a key that must be recorded is then not accepted.
	ReadOnly bool

	// KeepRecord forbids writing too, but accepts every key that the policy accepts. It is for
	// callers that base another decision on the record as it was before.
	KeepRecord bool

	// Alias replaces host name and port for looking up and recording (HostKeyAlias); empty for
	// none.
	Alias string

	// Fingerprint pins the key: "SHA256:" and 43 characters of base64, as ssh-keygen -l prints.
	// Any other key is refused. The pinned key must not contradict the files, and admits an
	// unrecorded host if Floor allows. For a certificate it is the fingerprint of the certified
	// key.
	Fingerprint string

	// NoPin says that a Fingerprint cannot be given for this host, so errors must not suggest
	// it.
	NoPin bool

	// HashNewNames writes names only as salted hashes (HashKnownHosts).
	HashNewNames bool

	// CheckIP also checks the address given to NewVerifier (CheckHostIP). It has no effect on
	// loopback addresses, or if the host name is that address.
	CheckIP bool

	// KeepAddresses keeps CheckIP from adding addresses of known hosts to the files.
	KeepAddresses bool

	// NoHostAuthenticationForLocalhost accepts any key from a loopback address, unless Alias is set.
	NoHostAuthenticationForLocalhost bool

	// RequiredRSASize is the smallest RSA key accepted, in bits. Values below 1024, also zero, mean 1024.
	RequiredRSASize int

	// CASignatureAlgorithms are the accepted signature algorithms of a certificate. Nil means
	// OpenSSH's default: all without SHA-1.
	CASignatureAlgorithms []string

	// Ask answers the question of policy Ask: "yes", "no", or the fingerprint; the words in any
	// case. After another answer it is called again with Question.Again set, at most three times
	// in all. It may block until ctx ends. Nil means no.
	Ask func(ctx context.Context, q Question) (answer string, err error)
}

// minRSASize is the lower limit of RequiredRSASize (ssh_config(5)).
const minRSASize = 1024

// defaultCASignatureAlgorithms is the default of CASignatureAlgorithms in ssh_config(5).
var defaultCASignatureAlgorithms = []string{
	ssh.KeyAlgoED25519,
	ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521,
	ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256,
	ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256,
}

// normalized returns a checked copy with defaults, independent of the caller's slices.
func (o Options) normalized() (Options, error) {
	for _, p := range []Policy{o.Policy, o.Floor} {
		if p < Strict || p > Disabled {
			return o, fmt.Errorf("hostkeys: unknown policy %d: use Strict, AcceptNew, Ask or Disabled", int(p))
		}
	}
	if o.RecordFile == "" && len(o.UserFiles) > 0 {
		o.RecordFile = o.UserFiles[0]
	}
	if o.Fingerprint != "" {
		sum, ok := strings.CutPrefix(strings.TrimRight(o.Fingerprint, "="), "SHA256:")
		raw, err := base64.RawStdEncoding.DecodeString(sum)
		if !ok || err != nil || len(raw) != 32 {
			return o, fmt.Errorf("hostkeys: host key fingerprint %q is not SHA256:<43 characters of base64>: "+
				"give the text that \"ssh-keygen -l -f KEY.pub\" prints", o.Fingerprint)
		}
		o.Fingerprint = "SHA256:" + sum
	}
	o.Alias = strings.ToLower(o.Alias)
	o.UserFiles = slices.Clone(o.UserFiles)
	o.GlobalFiles = slices.Clone(o.GlobalFiles)
	o.CallerFiles = slices.Clone(o.CallerFiles)
	o.KnownHosts = slices.Clone(o.KnownHosts)
	o.RevokedFiles = slices.Clone(o.RevokedFiles)
	o.RequiredRSASize = max(o.RequiredRSASize, minRSASize)
	if o.CASignatureAlgorithms == nil {
		o.CASignatureAlgorithms = defaultCASignatureAlgorithms
	}
	o.CASignatureAlgorithms = slices.Clone(o.CASignatureAlgorithms)
	return o, nil
}

// files returns the paths that decide, in search order.
func (o *Options) files() []string {
	return slices.Concat(o.UserFiles, o.GlobalFiles)
}

// allFiles returns all paths in search order, after the name of KnownHosts if there are any.
func (o *Options) allFiles() []string {
	var first []string
	if o.KnownHosts != nil {
		first = []string{inMemory}
	}
	return slices.Concat(first, o.UserFiles, o.GlobalFiles, o.CallerFiles)
}

// inMemory is the Entry.File of KnownHosts.
const inMemory = "KnownHosts"
