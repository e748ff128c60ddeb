package hostkeys

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

// Policy says what to do about a key that the files do not vouch for; StrictHostKeyChecking in ssh_config(5).
// The policies stand in order, each more lenient than the one before.
type Policy int

const (
	// Strict accepts only keys on record ("yes").
	Strict Policy = iota
	// Ask puts the key of a host of which nothing is on record to Options.Ask, and records it on a yes ("ask").
	Ask
	// AcceptNew accepts, and records, the key of such a host unseen ("accept-new").
	AcceptNew
	// Disabled accepts every key that is not revoked, and records the key of a new host ("no"). The caller must look
	// at Result.Changed.
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

// Options configure a Verifier. The zero value is a strict check against no files: it accepts nothing.
// Paths are used as they are: "~", tokens and "none" have been dealt with before.
type Options struct {
	Policy Policy

	// UserFiles and GlobalFiles are searched in this order; UserKnownHostsFile and GlobalKnownHostsFile. New keys go to
	// UserFiles[0]. A file that does not exist is no error.
	UserFiles   []string
	GlobalFiles []string

	// RevokedFiles list keys that are always refused, one public key per line; RevokedHostKeys. Each must exist and
	// be readable in full. Binary key revocation lists (KRL) are not supported.
	RevokedFiles []string

	// ReadOnly keeps the files as they are: a key that would have to be recorded is not accepted.
	ReadOnly bool

	// KeepRecord adds nothing to the files either, but accepts what the policy accepts: some other decision depends on what
	// was on record before.
	KeepRecord bool

	// Alias is looked up, and recorded, in place of the host name and port; HostKeyAlias. Empty: none.
	Alias string

	// Fingerprint pins the key: "SHA256:" and 43 characters of base64, as ssh-keygen -l prints. If set, it decides
	// alone, except that revoked keys are still refused. For a certificate it is the fingerprint of the certified key.
	Fingerprint string

	// HashNewNames writes names into the file only as salted hashes; HashKnownHosts.
	HashNewNames bool

	// CheckIP also looks up the address given to NewVerifier; CheckHostIP. It has no effect on loopback addresses and
	// when the host name is that address.
	CheckIP bool

	// NoHostAuthenticationForLocalhost accepts any key from a loopback address, unless Alias is set.
	NoHostAuthenticationForLocalhost bool

	// RequiredRSASize is the smallest RSA key accepted, in bits. Values below 1024, also zero, mean 1024.
	RequiredRSASize int

	// CASignatureAlgorithms are the algorithms with which a certificate may be signed. Nil means OpenSSH's default:
	// all but those with SHA-1.
	CASignatureAlgorithms []string

	// Ask answers the question of policy Ask: "yes", "no", or the fingerprint, case ignored in the words. Any
	// other answer is asked again, three times at most, with Question.Again set. It may block as long as ctx
	// lives. Nil means no.
	Ask func(ctx context.Context, q Question) (answer string, err error)
}

// minRSASize is the limit RequiredRSASize can only raise; ssh_config(5).
const minRSASize = 1024

// defaultCASignatureAlgorithms is the default of CASignatureAlgorithms in ssh_config(5).
var defaultCASignatureAlgorithms = []string{
	ssh.KeyAlgoED25519,
	ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521,
	ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256,
	ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256,
}

// normalized returns a copy with defaults filled in, independent of the caller's slices.
func (o Options) normalized() (Options, error) {
	if o.Policy < Strict || o.Policy > Disabled {
		return o, fmt.Errorf("hostkeys: unknown policy %d: use Strict, AcceptNew, Ask or Disabled", int(o.Policy))
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
	o.RevokedFiles = slices.Clone(o.RevokedFiles)
	o.RequiredRSASize = max(o.RequiredRSASize, minRSASize)
	if o.CASignatureAlgorithms == nil {
		o.CASignatureAlgorithms = defaultCASignatureAlgorithms
	}
	o.CASignatureAlgorithms = slices.Clone(o.CASignatureAlgorithms)
	return o, nil
}

// files are the paths to search, in order.
func (o *Options) files() []string {
	return slices.Concat(o.UserFiles, o.GlobalFiles)
}
