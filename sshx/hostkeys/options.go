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

	// UserFiles and GlobalFiles are searched in this order; UserKnownHostsFile and GlobalKnownHostsFile. What they say
	// of a host decides. A file that does not exist is no error.
	UserFiles   []string
	GlobalFiles []string

	// CallerFiles were named by someone who may narrow what the files above say and not widen it. A key must not
	// contradict their lines either. Where the files above have nothing on record, theirs vouch for a host if Floor
	// allows.
	CallerFiles []string

	// Floor is the most lenient policy that whoever chose Fingerprint and CallerFiles may reach. At Strict and Ask
	// neither of them admits a host of which UserFiles and GlobalFiles have nothing on record.
	Floor Policy

	// RecordFile takes new keys. Empty means UserFiles[0].
	RecordFile string

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

	// Fingerprint pins the key: "SHA256:" and 43 characters of base64, as ssh-keygen -l prints. Any other key is
	// refused. The pinned one must not contradict the files, and admits a host of which nothing is on record if Floor
	// allows. For a certificate it is the fingerprint of the certified key.
	Fingerprint string

	// NoPin says that nobody can give a Fingerprint for this host, so that no error advises it.
	NoPin bool

	// HashNewNames writes names into the file only as salted hashes; HashKnownHosts.
	HashNewNames bool

	// CheckIP also looks up the address given to NewVerifier; CheckHostIP. It has no effect on loopback addresses and
	// when the host name is that address.
	CheckIP bool

	// KeepAddresses keeps CheckIP from adding addresses of known hosts to the files.
	KeepAddresses bool

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
	o.RevokedFiles = slices.Clone(o.RevokedFiles)
	o.RequiredRSASize = max(o.RequiredRSASize, minRSASize)
	if o.CASignatureAlgorithms == nil {
		o.CASignatureAlgorithms = defaultCASignatureAlgorithms
	}
	o.CASignatureAlgorithms = slices.Clone(o.CASignatureAlgorithms)
	return o, nil
}

// files are the paths that decide, in the order in which they are searched.
func (o *Options) files() []string {
	return slices.Concat(o.UserFiles, o.GlobalFiles)
}

// allFiles are the paths to search, in order.
func (o *Options) allFiles() []string {
	return slices.Concat(o.UserFiles, o.GlobalFiles, o.CallerFiles)
}
