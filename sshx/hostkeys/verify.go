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

// Verifier decides about the host keys of one connection.
type Verifier struct {
	// Set by NewVerifier.
	o       Options
	names   hostNames
	address string // of the peer; empty if not known
	local   bool   // address is a loopback address
	revoked *revocations
	db      *database // of UserFiles and GlobalFiles
	callers *database // of CallerFiles
	known   known

	mu       sync.Mutex
	accepted *offer // nil until a key was accepted
	result   Result
}

// Decision says why a key was accepted.
type Decision int

const (
	// Undecided says: no key was accepted yet.
	Undecided Decision = iota
	// Known says: Result.Entry holds the key.
	Known
	// KnownAuthority says: Result.Entry holds the authority that certified the key.
	KnownAuthority
	// Pinned says: the key has the fingerprint asked for, and the files do not contradict it. Result.Entry holds the key
	// if it is on record.
	Pinned
	// Added says: nothing was on record; the policy accepted the key unseen. Result.Entry is the new line, if it could
	// be written.
	Added
	// Confirmed says: nothing was on record; the question was answered with yes. Result.Entry is the new line, if it
	// could be written.
	Confirmed
	// Unchecked says: the key contradicts the files, or was not compared with them, and is accepted all the same: policy
	// Disabled, or NoHostAuthenticationForLocalhost.
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
	Type        string   // of the key, as "ssh-ed25519"; of a certificate, that of the certified key
	Fingerprint string   // of the key, "SHA256:..."
	Decision    Decision // Undecided as long as the other fields but Name and Warnings are empty
	Entry       *Entry   // the line behind the decision, if there is one

	// Changed: the key contradicts what is on record, and policy Disabled accepted it. As OpenSSH does, use neither
	// password nor keyboard-interactive authentication, and forward nothing.
	Changed bool

	// Warnings: lines ignored, a certificate that did not count, a key that could not be recorded.
	Warnings []string
}

// NewVerifier reads the files and looks up the host: host and port as dialled (port 0 means 22), ip the peer's address,
// or nil if it is not known, as behind a jump host. It fails if the options are wrong or a revocation list cannot be
// read.
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
	if v.db, v.callers, err = o.read(); err != nil {
		return nil, err
	}
	v.known = v.lines(v.db, v.callers)
	v.result = Result{Name: v.names.name, Warnings: slices.Concat(v.db.allWarnings(), v.callers.allWarnings())}
	return v, nil
}

// HostKeyCallback returns Verify as x/crypto/ssh wants it. The context bounds the question of policy Ask.
func (v *Verifier) HostKeyCallback(ctx context.Context) ssh.HostKeyCallback {
	return func(_ string, _ net.Addr, key ssh.PublicKey) error { return v.Verify(ctx, key) }
}

// Result describes the key that was accepted, or says Undecided.
func (v *Verifier) Result() Result {
	v.mu.Lock()
	defer v.mu.Unlock()
	r := v.result
	r.Warnings = slices.Clone(r.Warnings)
	return r
}

// Verify accepts the key by returning nil, or returns *UnknownError, *MismatchError, *RevokedError or
// *WeakKeyError, or what Options.Ask failed with. Once a key is accepted, every later call compares with that key
// and does nothing else. It has one caller at a time, the key exchange.
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
	// Not under mu: it may wait for a person.
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
