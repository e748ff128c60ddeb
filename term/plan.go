package term

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// A Plan describes the steps of a Dialer, after it has evaluated the caller's arguments and
// all files that they and the operator name.
type Plan struct {
	// Unresolved says that names are not resolved yet. A Dialer that must resolve a name
	// asks about its plan twice: before, so that it resolves nothing for a refused plan, and
	// again when it knows the addresses.
	Unresolved bool

	// ProxyCommand says that a program of the operator connects to the first hop, and resolves
	// its name.
	ProxyCommand bool

	Proxy *PlannedHop  // proxy of the first hop; nil: none
	Hops  []PlannedHop // in order; the last is the target

	Env           []EnvVar // variables that the configuration sends to the target
	CallerEnv     []EnvVar // the part of Env that the caller requested
	RemoteCommand string   // runs on the target instead of a login shell; empty: a shell
	ForwardAgent  bool     // forwards the agent to the target
}

// A PlannedHop is one host of a Plan.
type PlannedHop struct {
	Alias string // the name that was requested
	Host  string // the name or address to which it resolves
	Port  int
	User  string // empty: no login

	// Vouched holds those of Alias and Host that lead to this host by the operator's
	// configuration, or without any. The others lead here only by the caller's arguments, so
	// rules must not trust them.
	Vouched []string

	// Addresses are the addresses of Host; a Dialer must connect to no other. Empty: the hop
	// or the program before this one resolves the name, or the name could not be resolved.
	Addresses []netip.Addr

	Names []string // only in Action.Far: further names by which rules know the host

	HostKeyPolicy string   // "strict", "ask", "accept_new" or "disabled"; empty: no host key
	Pinned        bool     // the caller passes the fingerprint of the host key
	Credentials   []string // available credentials, by kind and file
}

// Address returns host:port.
func (h PlannedHop) Address() string { return net.JoinHostPort(h.Host, strconv.Itoa(h.Port)) }

// Target returns the last hop, or nil.
func (p Plan) Target() *PlannedHop {
	if len(p.Hops) == 0 {
		return nil
	}
	return &p.Hops[len(p.Hops)-1]
}

// String returns the plan for the audit log: each hop with its addresses, host key policy
// and credentials, and the names of the variables. It must not contain RemoteCommand or
// any secret.
func (p Plan) String() string {
	var parts []string
	if p.ProxyCommand {
		parts = append(parts, "ProxyCommand")
	}
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

// String returns the hop as a part of Plan.String.
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

// A Planner returns the plan that a Dialer would make for t, before it looks a name up. It sends nothing to any host,
// and its error is the one with which the Dialer would refuse t.
type Planner func(ctx context.Context, t Target) (Plan, error)

// Approve decides whether a Dialer may carry out its plan. The Dialer returns the error.
// A nil Approve allows everything.
type Approve func(ctx context.Context, p Plan) (Grant, error)

// Ask calls a, and allows everything if a is nil.
func (a Approve) Ask(ctx context.Context, p Plan) (Grant, error) {
	if a == nil {
		return Grant{}, nil
	}
	return a(ctx, p)
}

// A Grant limits a plan. The zero Grant allows everything in the plan.
type Grant struct {
	// Names are further names by which rules for the target's sessions know it.
	Names []string

	// Credentials has an element for each hop of the plan; nil: all credentials are allowed.
	Credentials []CredentialGrant

	// Report makes Credentials a trial: nothing is withheld, but Report is called, at most
	// once per hop, with each credential that would have been. It may be called during the
	// login and from any goroutine.
	Report func(credential string, why error)
}

// Hop returns the allowed credentials for hop i.
func (g Grant) Hop(i int) CredentialGrant {
	if i < len(g.Credentials) {
		return g.Credentials[i]
	}
	return CredentialGrant{}
}

// A CredentialGrant limits the credentials that a login at one host may use. The zero
// value allows all.
type CredentialGrant struct {
	Ruled bool // the following fields apply

	Password  CredentialCondition            // passwords and other answers to the host's questions
	Agent     CredentialCondition            // keys of the agent that are not in Keys, and agent forwarding
	Keys      map[string]CredentialCondition // by fingerprint, "SHA256:...", from any source
	OtherKeys CredentialCondition            // all other keys

	// KeepRecord says that the login must not add a host key to known_hosts: a credential
	// demands a key that was recorded before.
	KeepRecord bool
}

// A CredentialCondition is the condition for using a credential. The zero value allows
// it.
type CredentialCondition struct {
	Never   bool
	HostKey HostKeyProof
	Why     string // with Never: the reason, for a message; may be empty
	Rule    string // the rule, for a message
}

// A HostKeyProof is a required proof of a host's key.
type HostKeyProof string

// Values of HostKeyProof, the weakest first.
const (
	HostKeyAccepted HostKeyProof = ""         // as the host key policy decides
	HostKeyRecorded HostKeyProof = "recorded" // known_hosts had it before
	HostKeyPinned   HostKeyProof = "pinned"   // recorded, and the caller has passed its fingerprint
)
