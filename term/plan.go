package term

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// A Plan is what a Dialer is about to do, after all configuration: the caller's arguments, and every file that they and
// the operator have named.
type Plan struct {
	// Unresolved says that names have not been looked up yet. A Dialer asks about a plan twice if it has to look up a
	// name: before, so that nothing is looked up for what is refused, and when it knows the addresses.
	Unresolved bool

	Proxy *PlannedHop  // through which the first hop is reached; nil: none
	Hops  []PlannedHop // in order; the target last

	Env           []EnvVar // what the configuration sends to the target
	CallerEnv     []EnvVar // those of Env that the caller has asked for
	RemoteCommand string   // what runs on the target in place of a login shell; empty: a shell
	ForwardAgent  bool     // the target may use the agent
}

// A PlannedHop is one host of a Plan.
type PlannedHop struct {
	Alias string // as it was asked for
	Host  string // what that means: a name or an address
	Port  int
	User  string // empty: nobody logs in

	// Vouched are those of Alias and Host that lead here by the operator's own configuration, or without any. The others
	// lead here only because the caller says so.
	Vouched []string

	// Addresses are what Host resolves to, and all that is connected to. Empty: what is before this hop looks up the name,
	// or it could not be looked up.
	Addresses []netip.Addr

	Names []string // of an Action's Far: further names by which the operator's rules know it

	HostKeyPolicy string   // "strict", "ask", "accept_new" or "disabled"; empty: there is no host key
	Pinned        bool     // the caller names the host key's fingerprint
	Credentials   []string // what we could log in with, by kind and file
}

// Address is where the hop is, as host:port.
func (h PlannedHop) Address() string { return net.JoinHostPort(h.Host, strconv.Itoa(h.Port)) }

// Target returns the last hop; nil: there is none.
func (p Plan) Target() *PlannedHop {
	if len(p.Hops) == 0 {
		return nil
	}
	return &p.Hops[len(p.Hops)-1]
}

// String is the plan for the record: each hop with its addresses, host key policy and credentials, and the names of the
// variables. RemoteCommand is not in it, and neither is a secret.
func (p Plan) String() string {
	var parts []string
	if p.Proxy != nil {
		parts = append(parts, "proxy "+p.Proxy.String())
	}
	for _, h := range p.Hops {
		parts = append(parts, h.String())
	}
	s := strings.Join(parts, " > ")
	if len(p.Env) > 0 {
		names := make([]string, len(p.Env))
		for i, v := range p.Env {
			names[i] = v.Name
		}
		s += "; env " + strings.Join(names, ", ")
	}
	if p.ForwardAgent {
		s += "; the agent is forwarded"
	}
	if p.RemoteCommand != "" {
		s += "; a remote command"
	}
	return s
}

// String is the hop as a Plan shows it.
func (h PlannedHop) String() string {
	s := h.Address()
	if h.User != "" {
		s = h.User + "@" + s
	}
	var about []string
	if h.Alias != h.Host {
		about = append(about, "asked for as "+h.Alias)
	}
	if len(h.Addresses) > 0 && (len(h.Addresses) > 1 || h.Addresses[0].String() != h.Host) {
		texts := make([]string, len(h.Addresses))
		for i, a := range h.Addresses {
			texts[i] = a.String()
		}
		about = append(about, strings.Join(texts, ", "))
	}
	if h.HostKeyPolicy != "" {
		policy := "host key " + h.HostKeyPolicy
		if h.Pinned {
			policy += ", pinned"
		}
		about = append(about, policy)
	}
	if len(h.Credentials) > 0 {
		about = append(about, "by "+strings.Join(h.Credentials, ", "))
	}
	if len(about) > 0 {
		s += " (" + strings.Join(about, "; ") + ")"
	}
	return s
}

// Approve decides whether a Dialer may do what it has planned. Its error is the Dialer's. A nil Approve allows everything.
type Approve func(ctx context.Context, p Plan) (Grant, error)

// Ask is Approve for one that may be nil.
func (a Approve) Ask(ctx context.Context, p Plan) (Grant, error) {
	if a == nil {
		return Grant{}, nil
	}
	return a(ctx, p)
}

// A Grant is what a plan is allowed to use. The zero Grant allows all that is planned.
type Grant struct {
	// Names are further names of the target, by which rules for its sessions know it.
	Names []string

	// Credentials say, for each hop of the plan, what it may be shown; nil: anything.
	Credentials []CredentialGrant

	// Report, unless it is nil, makes Credentials withhold nothing: it is told of each credential that would have been
	// withheld when it is used, once for each hop, and why. It is called while the login goes on, by any goroutine.
	Report func(credential string, why error)
}

// Hop returns what hop i may be shown.
func (g Grant) Hop(i int) CredentialGrant {
	if i < len(g.Credentials) {
		return g.Credentials[i]
	}
	return CredentialGrant{}
}

// A CredentialGrant says which credentials a login at one host may use. The zero value allows all.
type CredentialGrant struct {
	Ruled bool // the following counts

	Password  CredentialCondition            // passwords and other answers to the host's questions
	Agent     CredentialCondition            // keys of the agent that are not in Keys, and forwarding it
	Keys      map[string]CredentialCondition // by fingerprint, "SHA256:...": wherever the key is
	OtherKeys CredentialCondition            // every other key

	// KeepRecord says that no host key may be added to the operator's record on the way: what some credential needs to be
	// on record must have been there before.
	KeepRecord bool
}

// A CredentialCondition says on what condition a credential may be used. The zero value allows it.
type CredentialCondition struct {
	Never   bool
	HostKey HostKeyProof
	Why     string // with Never, for a message; may be empty
	Rule    string // who says so, for a message
}

// A HostKeyProof says how a host's key is known.
type HostKeyProof string

// The proofs, the weakest first.
const (
	HostKeyAccepted HostKeyProof = ""         // in whichever way it is
	HostKeyRecorded HostKeyProof = "recorded" // it was on the operator's record before
	HostKeyPinned   HostKeyProof = "pinned"   // recorded, and the caller has named its fingerprint
)
