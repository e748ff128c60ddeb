package hostkeys

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
)

const (
	defaultPort = 22 // RFC 4253 section 4
	// maxOtherNames bounds the other names shown for a key.
	maxOtherNames = 8
)

// Verifier decides about the host keys of one connection.
type Verifier struct {
	// Set by NewVerifier.
	o       Options
	names   hostNames
	address string // of the peer; empty if not known
	local   bool   // address is a loopback address
	revoked *revocations
	db      *database
	known   known

	mu       sync.Mutex
	accepted *offer // nil until a key was accepted
	result   Result
}

// Decision says why a key was accepted.
type Decision int

const (
	// Undecided: no key was accepted yet.
	Undecided Decision = iota
	// Known: Result.Entry holds the key.
	Known
	// KnownAuthority: Result.Entry holds the authority that certified the key.
	KnownAuthority
	// Pinned: the key has the fingerprint asked for.
	Pinned
	// Added: nothing was on record; the policy accepted the key unseen. Result.Entry is the new line, if it could be written.
	Added
	// Confirmed: nothing was on record; the question was answered with yes. Result.Entry is the new line, if it could be written.
	Confirmed
	// Unchecked: the key contradicts the files, or was not compared with them, and is accepted all the same: policy
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
		return nil, errors.New("hostkeys: the host name is empty, or the port is not in 0..65535: give the host and port dialled")
	}
	v := &Verifier{o: o, names: newHostNames(host, port, ip, o)}
	if ip != nil {
		v.address, v.local = ip.String(), ip.IsLoopback()
	}
	if v.revoked, err = readRevocations(o.RevokedFiles); err != nil {
		return nil, err
	}
	if v.db, err = readDatabase(o.files()); err != nil {
		return nil, err
	}
	v.known = v.db.known(v.names)
	v.result = Result{Name: v.names.name, Warnings: v.db.allWarnings()}
	return v, nil
}

// newHostNames returns the names of a host in the files' own form; sshd(8) "SSH_KNOWN_HOSTS FILE FORMAT".
func newHostNames(host string, port int, ip net.IP, o Options) hostNames {
	host = strings.ToLower(host)
	n := hostNames{name: withPort(host, port), cert: host}
	if n.name != host {
		n.bare = host
	}
	if o.Alias != "" {
		n.name, n.bare, n.cert = o.Alias, "", o.Alias
	}
	if o.CheckIP && ip != nil && !ip.IsLoopback() && ip.String() != host {
		n.ip = withPort(ip.String(), port)
	}
	return n
}

// withPort returns host, or [host]:port if the port is not the default one.
func withPort(host string, port int) string {
	if port == 0 || port == defaultPort {
		return host
	}
	return "[" + host + "]:" + strconv.Itoa(port)
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

// Verify accepts the key by returning nil, or returns *UnknownError, *MismatchError, *RevokedError or *WeakKeyError, or
// what Options.Ask failed with. Once a key is accepted, every later call compares with that key and does nothing else. It has one caller at a
// time, the key exchange.
func (v *Verifier) Verify(ctx context.Context, key ssh.PublicKey) error {
	o := newOffer(key)
	v.mu.Lock()
	accepted := v.accepted
	v.mu.Unlock()
	if accepted != nil {
		if sameKey(accepted.key, o.key) {
			return nil
		}
		return &MismatchError{Name: v.names.name, Type: o.keyType, Fingerprint: o.fingerprint, Earlier: accepted.fingerprint}
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

// decide takes the decision about the first key. The result lacks what Verify can fill in.
func (v *Verifier) decide(ctx context.Context, o *offer) (Result, error) {
	if bits := o.rsaBits(); bits != 0 && bits < v.o.RequiredRSASize {
		return Result{}, &WeakKeyError{Name: v.names.name, Fingerprint: o.fingerprint, Bits: bits, Required: v.o.RequiredRSASize}
	}
	if err := v.checkRevoked(v.known, o); err != nil {
		return Result{}, err
	}
	switch {
	case v.o.Fingerprint == o.fingerprint:
		return Result{Decision: Pinned}, nil
	case v.o.Fingerprint != "":
		return Result{}, v.mismatch(o, func(e *MismatchError) { e.Pinned = v.o.Fingerprint })
	case v.o.NoHostAuthenticationForLocalhost && v.local && v.o.Alias == "":
		return Result{Decision: Unchecked}, nil
	}
	j := v.judge(v.known, o)
	if j.standing == unheard && j.ip != changed {
		return v.decideNew(ctx, o, j)
	}
	return v.decideKnown(o, j)
}

func (v *Verifier) judge(k known, o *offer) judgement {
	return k.judge(o, v.names.cert, v.o.CASignatureAlgorithms)
}

func (v *Verifier) checkRevoked(k known, o *offer) error {
	e, found := v.revoked.find(o)
	if !found {
		e, found = k.revoked(o)
	}
	if !found {
		return nil
	}
	return &RevokedError{Name: v.names.name, Type: o.keyType, Fingerprint: o.fingerprint, Entry: e}
}

func (v *Verifier) mismatch(o *offer, reason func(*MismatchError)) error {
	e := &MismatchError{Name: v.names.name, Type: o.keyType, Fingerprint: o.fingerprint}
	reason(e)
	return e
}

// decideKnown decides where the files have a say.
func (v *Verifier) decideKnown(o *offer, j judgement) (Result, error) {
	r := Result{Decision: Known, Entry: &j.entry}
	switch {
	case j.standing == changed && v.o.Policy != Disabled:
		return Result{}, v.mismatch(o, func(e *MismatchError) { e.Recorded = j.recorded })
	case j.ip == changed && v.o.Policy != Disabled:
		return Result{}, v.mismatch(o, func(e *MismatchError) { e.Name, e.Recorded = v.names.ip, j.ipRecorded })
	case j.standing == changed:
		return Result{Decision: Unchecked, Entry: &j.recorded[0], Changed: true, Warnings: []string{
			"the host key of " + strconv.Quote(v.names.name) + " contradicts " + j.recorded[0].String() +
				" and was accepted by policy disabled: it may be an attack"}}, nil
	case j.ip == changed:
		r.Warnings = append(r.Warnings, "the host key contradicts the one on record for the address, "+j.ipRecorded[0].String())
		if j.standing == unheard {
			r.Decision, r.Entry = Unchecked, nil
		}
	case j.byCA:
		r.Decision = KnownAuthority
	case v.names.ip != "" && j.ip == unheard && !j.byBareName:
		// ssh_config(5) CheckHostIP: addresses are added "regardless of the setting of StrictHostKeyChecking".
		if _, _, err := v.record(o); err != nil {
			r.Warnings = append(r.Warnings, "the address was not added to the known hosts: "+err.Error())
		}
	}
	return r, nil
}

// decideNew decides where nothing is on record.
func (v *Verifier) decideNew(ctx context.Context, o *offer, j judgement) (Result, error) {
	unknown := &UnknownError{
		Name: v.names.name, Type: o.keyType, Fingerprint: o.fingerprint, Policy: v.o.Policy,
		Certificate: j.certificate, Files: v.o.files(), OtherNames: v.db.withKey(o.key, maxOtherNames),
	}
	r := Result{Decision: Added}
	if j.certificate != "" {
		r.Warnings = append(r.Warnings, "the certificate does not count: "+j.certificate)
	}
	switch v.o.Policy {
	case Strict:
		return Result{}, unknown
	case Ask:
		if v.o.Ask == nil {
			return Result{}, unknown
		}
		yes, err := Question{
			Name: unknown.Name, Address: v.address, Type: unknown.Type, Fingerprint: unknown.Fingerprint,
			Certificate: unknown.Certificate, OtherNames: unknown.OtherNames,
		}.put(ctx, v.o.Ask)
		if err != nil {
			return Result{}, err
		}
		if !yes {
			unknown.Declined = true
			return Result{}, unknown
		}
		r.Decision = Confirmed
	}
	line, now, err := v.record(o)
	var refused *notRecordableError
	switch {
	case err == nil && line != nil && now.standing == unheard:
		r.Entry = line
	case err == nil:
		// Another process was faster; what it wrote decides.
		return v.decideKnown(o, now)
	case errors.As(err, &refused) && v.o.Policy == AcceptNew:
		// The first use of a key that is recorded nowhere would be a first use every time.
		unknown.Unwritable = refused.reason
		return Result{}, unknown
	case isVerdict(err):
		return Result{}, err
	default:
		if v.o.Policy == Disabled {
			r.Decision = Unchecked
		}
		r.Warnings = append(r.Warnings, "the host key was accepted but not recorded: "+err.Error())
	}
	return r, nil
}
