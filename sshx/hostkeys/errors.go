package hostkeys

import (
	"fmt"
	"strings"
)

// UnknownError reports that no key is on record for the host, and that the policy, or the
// answer to its question, does not accept a new one.
type UnknownError struct {
	Name        string   // as looked up: an alias, a host, or [host]:port
	Type        string   // of the offered key, for example "ssh-ed25519"
	Fingerprint string   // of the offered key
	Policy      Policy   // the policy that refused the key
	Floor       Policy   // Options.Floor
	NoPin       bool     // Options.NoPin
	Pinned      bool     // the key has the pinned fingerprint, but Floor does not let a pin admit a host
	Vouched     *Entry   // the line of a caller's file with the key, which Floor does not let admit a host
	Declined    bool     // the answer to the question was no
	Certificate string   // why the offered certificate was rejected; empty without one
	Unwritable  string   // why the key could not be recorded, if the policy would accept it
	Files       []string // the files searched
	OtherNames  []Entry  // at most eight lines with this key under other names
}

// Error names the host, the key, the files and the possible next steps.
func (e *UnknownError) Error() string {
	if e.Declined {
		return e.Fact()
	}
	return e.Fact() + ": " + e.next()
}

// Fact is the message without the next steps.
func (e *UnknownError) Fact() string {
	var b strings.Builder
	fmt.Fprintf(&b, "no host key is on record for %q, which offers %s %s", e.Name, e.Type, e.Fingerprint)
	switch {
	case len(e.Files) == 0:
		b.WriteString(" (no known_hosts file is configured)")
	default:
		fmt.Fprintf(&b, " (searched %s)", strings.Join(e.Files, ", "))
	}
	if e.Certificate != "" {
		fmt.Fprintf(&b, "; its certificate was rejected: %s", e.Certificate)
	}
	if len(e.OtherNames) > 0 {
		b.WriteString("; the same key is on record as ")
		for i, n := range e.OtherNames {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%q (%s)", n.Names, n)
		}
	}
	switch {
	case e.Declined:
		b.WriteString("; the question whether to accept it was answered with no")
		return b.String()
	case e.Unwritable != "":
		fmt.Fprintf(&b, "; policy %s cannot record it: %s", e.Policy, e.Unwritable)
	}
	switch {
	case e.Pinned:
		fmt.Fprintf(&b, "; a fingerprint does not admit a new host where the operator's floor is %s", e.Floor)
	case e.Vouched != nil:
		fmt.Fprintf(
			&b,
			"; %s has the key, but a caller's file does not admit a new host where the operator's floor is %s",
			e.Vouched,
			e.Floor,
		)
	}
	return b.String()
}

// next returns the next steps of the user.
func (e *UnknownError) next() string {
	text := "compare the fingerprint with one from the host's owner, then "
	switch {
	case e.Policy == AcceptNew && e.NoPin: // which would record it, if it could
		return text + "make a known_hosts file writable, or add the host's ssh-keyscan line to one"
	case e.Policy == AcceptNew:
		return text + "make a known_hosts file writable, or pin the key by its fingerprint"
	case e.Floor >= AcceptNew && e.NoPin:
		return text + "add the host's ssh-keyscan line to known_hosts, or use policy accept_new to record it on " +
			"first use"
	case e.Floor >= AcceptNew:
		return text + "add the host's ssh-keyscan line to known_hosts, or pin it by its fingerprint, " +
			"or use policy accept_new to record it on first use"
	case e.Floor == Ask && e.Policy != Ask:
		return text + "have the operator add the host's ssh-keyscan line to known_hosts, or use policy ask to be asked"
	}
	return text + "have the operator add the host's ssh-keyscan line to known_hosts"
}

// AdvisesPin reports whether the message advises to pin the key.
func (e *UnknownError) AdvisesPin() bool {
	return !e.Declined && e.Floor >= AcceptNew && !e.NoPin
}

// MismatchError reports a key that contradicts the record, the pin, or the key shown earlier
// on the same connection. It may be an attack.
type MismatchError struct {
	Name        string  // as looked up: an alias, a host, [host]:port, or the address (CheckHostIP)
	Type        string  // of the offered key
	Fingerprint string  // of the offered key
	Recorded    []Entry // the lines it contradicts
	Pinned      string  // the pinned fingerprint, if the key contradicts it
	Earlier     string  // the fingerprint accepted earlier on this connection, if the key contradicts it
}

// Error names both keys, and the check that the user must do before accepting the new one.
func (e *MismatchError) Error() string { return e.Fact() + ": " + e.next() }

// Fact is the message without the check.
func (e *MismatchError) Fact() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the host key of %q is not the expected one (it may be an attack): it offers %s %s, but ",
		e.Name, e.Type, e.Fingerprint)
	switch {
	case e.Earlier != "":
		fmt.Fprintf(&b, "this connection began with %s", e.Earlier)
	case e.Pinned != "":
		fmt.Fprintf(&b, "the pinned fingerprint is %s", e.Pinned)
	default:
		b.WriteString("on record are ")
		for i, r := range e.Recorded {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%s %s (%s)", r.Type, r.Fingerprint, r)
		}
	}
	return b.String()
}

// next returns the next steps of the user.
func (e *MismatchError) next() string {
	switch {
	case e.Earlier != "":
		return "do not go on; connect again and compare"
	case e.Pinned != "":
		return "check that the pin is of the host's " + e.Type + " key, or restrict HostKeyAlgorithms to the type of " +
			"the pinned key"
	}
	return "ask the host's owner whether its key was changed; only then remove these lines and add the new key " +
		"(no fingerprint, and no other known_hosts file, takes their place)"
}

// RevokedError reports a revoked key, or a certificate of a revoked authority. No policy
// accepts it.
type RevokedError struct {
	Name        string // as looked up
	Type        string // of the offered key
	Fingerprint string // of the offered key
	Entry       Entry  // the line that revokes it
}

// Error names the line that revokes the key or its authority.
func (e *RevokedError) Error() string {
	return e.Fact() + ": it may be stolen; do not connect, and ask the host's owner for its new key"
}

// Fact is the message without the advice.
func (e *RevokedError) Fact() string {
	what := "the host key"
	if e.Entry.Fingerprint != e.Fingerprint {
		what = "the authority that certified the host key"
	}
	return fmt.Sprintf(
		"%s of %q is revoked by %s (the host offers %s %s)",
		what,
		e.Name,
		e.Entry,
		e.Type,
		e.Fingerprint,
	)
}

// UnreadableError reports a file that must be read to decide about a key, and exists, but
// could not be read. No policy accepts a key then. Another attempt may succeed.
type UnreadableError struct {
	File string
	Err  error // the cause, for example syscall.EMFILE
}

// Error names the file and the cause.
func (e *UnreadableError) Error() string {
	return fmt.Sprintf("%s cannot be read: %v; it may revoke the host's key, so no key is accepted", e.File, e.Err)
}

// Unwrap returns the cause.
func (e *UnreadableError) Unwrap() error { return e.Err }

// WeakKeyError reports an RSA key shorter than RequiredRSASize.
type WeakKeyError struct {
	Name        string // as looked up
	Fingerprint string // of the offered key
	Bits        int    // of the offered key
	Required    int    // bits
}

// Error names both sizes and the remedies.
func (e *WeakKeyError) Error() string {
	return fmt.Sprintf(
		"the RSA host key of %q (%s) has %d bits, and RequiredRSASize is %d: give the host a longer key, or "+
			"have it offer another type",
		e.Name,
		e.Fingerprint,
		e.Bits,
		e.Required,
	)
}
