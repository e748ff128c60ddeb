package hostkeys

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/crypto/ssh"
)

// Verifier decides about the host keys of one connection. Verify calls decide for the first
// key, which calls judge to compare it with the files.
type Verifier struct {
	// Set by NewVerifier.
	o       Options
	names   hostNames
	address string // of the server; empty if unknown
	local   bool   // address is a loopback address
	revoked *revocations
	known   known

	mu       sync.Mutex
	accepted *offer // nil before a key is accepted
	result   Result
}

// Decision is the reason why a key was accepted.
type Decision int

const (
	// Undecided means that no key has been accepted yet.
	Undecided Decision = iota
	// Known means that Result.Entry has the key.
	Known
	// KnownAuthority means that Result.Entry has the authority that certified the key.
	KnownAuthority
	// Pinned means that the key has the pinned fingerprint, and the files do not contradict it.
	// Result.Entry is the key's line if it is on record.
	Pinned
	// Added means that no key was on record, and the policy accepted this one without a
	// question. Result.Entry is the new line, if it could be written.
	Added
	// Confirmed means that no key was on record, and the answer to the question was yes.
	// Result.Entry is the new line, if it could be written.
	Confirmed
	// Unchecked means that the key contradicts the files or was not compared with them, and was
	// accepted by policy Disabled or NoHostAuthenticationForLocalhost.
	Unchecked
)

// String returns the name used in messages.
func (d Decision) String() string {
	names := [...]string{"undecided", "known", "known_authority", "pinned", "added", "confirmed", "unchecked"}
	if d < 0 || int(d) >= len(names) {
		return "Decision(" + strconv.Itoa(int(d)) + ")"
	}
	return names[d]
}

// Result describes the accepted key.
type Result struct {
	Name        string   // as looked up: an alias, a host, or [host]:port
	Type        string   // of the key, for example "ssh-ed25519"; never that of a certificate
	Fingerprint string   // of the key, "SHA256:..."
	Decision    Decision // Undecided before a key is accepted; then only Name and Warnings are set
	Entry       *Entry   // the line that decided, if any

	// Changed is true if the key contradicts the record and policy Disabled accepted it. Like
	// OpenSSH, the caller must then use neither password nor keyboard-interactive
	// authentication, and must forward nothing.
	Changed bool

	// Warnings concern ignored lines, a rejected certificate, or a key that could not be
	// recorded.
	Warnings []string
}

// NewVerifier reads the files and looks up the host. host and port are those dialled (port 0
// means 22); ip is the server's address, or nil if it is unknown, for example behind a jump
// host. It fails for bad options and for files that cannot be read.
func NewVerifier(host string, port int, ip net.IP, o Options) (*Verifier, error) {
	o, err := o.normalized()
	if err != nil {
		return nil, err
	}
	if host == "" || port < 0 || port > 65535 {
		return nil, errors.New("hostkeys: the host name is empty, or the port is not in 0..65535: " +
			"give the host and port dialled")
	}
	v := &Verifier{o: o, names: newHostNames(host, port, ip, o)}
	if ip != nil {
		v.address, v.local = ip.String(), ip.IsLoopback()
	}
	if v.revoked, err = readRevocations(o.RevokedFiles); err != nil {
		return nil, err
	}
	// The files are not kept: many connections at once would each have all lines in memory.
	record, callers, err := o.read()
	if err != nil {
		return nil, err
	}
	v.known = v.lines(record, callers)
	v.result = Result{Name: v.names.name, Warnings: slices.Concat(record.allWarnings(), callers.allWarnings())}
	return v, nil
}

// HostKeyCallback returns Verify in the form of x/crypto/ssh. ctx limits the question of
// policy Ask.
func (v *Verifier) HostKeyCallback(ctx context.Context) ssh.HostKeyCallback {
	return func(_ string, _ net.Addr, key ssh.PublicKey) error { return v.Verify(ctx, key) }
}

// Result describes the accepted key; its Decision is Undecided before that.
func (v *Verifier) Result() Result {
	v.mu.Lock()
	defer v.mu.Unlock()
	r := v.result
	r.Warnings = slices.Clone(r.Warnings)
	return r
}

// Verify accepts the key by returning nil. Otherwise it returns *UnknownError,
// *MismatchError, *RevokedError, *WeakKeyError, or the error of Options.Ask. After a key is
// accepted, every later call only compares with that key. It must have one caller at a time:
// the key exchange.
func (v *Verifier) Verify(ctx context.Context, key ssh.PublicKey) error {
	o := newOffer(key)
	v.mu.Lock()
	accepted := v.accepted
	v.mu.Unlock()
	if accepted != nil {
		if sameKey(accepted.key, o.key) {
			return nil
		}
		e := v.mismatch(o)
		e.Earlier = accepted.fingerprint
		return e
	}
	// Without mu, because it may wait for a person.
	r, err := v.decide(ctx, o)
	if err != nil {
		return err
	}
	r.Name, r.Type, r.Fingerprint = v.names.name, o.keyType, o.fingerprint
	v.mu.Lock()
	defer v.mu.Unlock()
	r.Warnings = append(v.result.Warnings, r.Warnings...)
	v.accepted, v.result = o, r
	return nil
}
