package hostkeys

import (
	"context"
	"errors"
	"fmt"
)

// maxOtherNames is the most other names shown for a key.
const maxOtherNames = 8

// decide decides about the first key of a connection, in this order: key size, revocation,
// pin, localhost, then the recorded keys (judge). The caller fills in the fields that Verify
// knows.
func (v *Verifier) decide(ctx context.Context, o *offer) (Result, error) {
	if bits := o.rsaBits(); bits != 0 && bits < v.o.RequiredRSASize {
		return Result{}, &WeakKeyError{
			Name: v.names.name, Fingerprint: o.fingerprint, Bits: bits, Required: v.o.RequiredRSASize,
		}
	}
	if err := v.checkRevoked(v.known, o); err != nil {
		return Result{}, err
	}
	pinned := v.o.Fingerprint == o.fingerprint
	switch {
	case v.o.Fingerprint != "" && !pinned:
		e := v.mismatch(o)
		e.Pinned = v.o.Fingerprint
		return Result{}, e
	case v.o.NoHostAuthenticationForLocalhost && v.local && v.o.Alias == "":
		return Result{Decision: Unchecked}, nil
	}
	j := v.judge(v.known, o)
	if j.status == notRecorded && j.ip != changed {
		if pinned && v.o.Floor >= AcceptNew {
			return Result{Decision: Pinned}, nil
		}
		return v.decideNew(ctx, o, j)
	}
	r, err := v.decideKnown(o, j)
	if pinned && (r.Decision == Known || r.Decision == KnownAuthority) {
		r.Decision = Pinned
	}
	return r, err
}

// checkRevoked returns a *RevokedError if a line revokes the offered key or its authority.
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

// vouched returns the line of a caller's file that confirms the key, for the error message.
func (v *Verifier) vouched(o *offer) *Entry {
	if j := v.known.callers.judge(o, v.names.cert, v.o.CASignatureAlgorithms); j.status == confirmed {
		return &j.entry
	}
	return nil
}

// mismatch returns the error without the key that is contradicted.
func (v *Verifier) mismatch(o *offer) *MismatchError {
	return &MismatchError{Name: v.names.name, Type: o.keyType, Fingerprint: o.fingerprint}
}

// decideKnown decides for a host with recorded keys.
func (v *Verifier) decideKnown(o *offer, j judgement) (Result, error) {
	r := Result{Decision: Known, Entry: &j.entry}
	switch {
	case j.status == changed && v.o.Policy != Disabled:
		e := v.mismatch(o)
		e.Recorded = j.recorded
		return Result{}, e
	case j.ip == changed && v.o.Policy != Disabled:
		e := v.mismatch(o)
		e.Name, e.Recorded = v.names.ip, j.ipRecorded
		return Result{}, e
	case j.status == changed:
		return Result{Decision: Unchecked, Entry: &j.recorded[0], Changed: true, Warnings: []string{fmt.Sprintf(
			"the host key of %q contradicts %s and was accepted by policy disabled: it may be an attack",
			v.names.name, j.recorded[0])}}, nil
	case j.ip == changed:
		r.Warnings = append(
			r.Warnings,
			fmt.Sprintf("the host key contradicts the address %s, on record at %s: it may be an attack",
				v.names.ip, j.ipRecorded[0]),
		)
		if j.status == notRecorded {
			r.Decision, r.Entry = Unchecked, nil
		}
	case j.byCA:
		r.Decision = KnownAuthority
	case v.names.ip != "" && j.ip == notRecorded && !j.byBareName && !j.byCaller && !v.o.KeepAddresses:
		// ssh_config(5), CheckHostIP: addresses are added "regardless of the setting of StrictHostKeyChecking".
		_, _, err := v.record(o, false)
		if isVerdict(err) {
			return Result{}, err
		}
		if err != nil {
			r.Warnings = append(r.Warnings, "the address was not added to the known hosts: "+err.Error())
		}
	}
	return r, nil
}

// decideNew decides for a host without a recorded key.
func (v *Verifier) decideNew(ctx context.Context, o *offer, j judgement) (Result, error) {
	unknown := &UnknownError{
		Name: v.names.name, Type: o.keyType, Fingerprint: o.fingerprint,
		Policy: v.o.Policy, Floor: v.o.Floor, NoPin: v.o.NoPin,
		Certificate: j.certificate, Files: v.o.allFiles(), OtherNames: v.o.withKey(o.key, maxOtherNames),
		Pinned: v.o.Fingerprint != "", Vouched: v.vouched(o),
	}
	r := Result{Decision: Added}
	if j.certificate != "" {
		r.Warnings = append(r.Warnings, "the certificate was rejected: "+j.certificate)
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
	if v.o.KeepRecord {
		r.Warnings = append(r.Warnings, "the host key was accepted but not recorded: "+keptRecord)
		return r, nil
	}
	line, now, err := v.record(o, true)
	switch {
	case err == nil && line != nil && now.status == notRecorded:
		r.Entry = line
	case err == nil:
		// Another process has recorded a key meanwhile, and that line decides.
		return v.decideKnown(o, now)
	case isVerdict(err):
		return Result{}, err
	case v.o.Policy == AcceptNew && !errors.Is(err, errKeepsNothing):
		// Without a record, every connection would be a first use and accept any key.
		unknown.Unwritable = err.Error()
		return Result{}, unknown
	default:
		if v.o.Policy == Disabled {
			r.Decision = Unchecked
		}
		r.Warnings = append(r.Warnings, "the host key was accepted but not recorded: "+err.Error())
	}
	return r, nil
}
