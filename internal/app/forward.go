package app

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ptyctl/config"
	"ptyctl/session/forward"
	"ptyctl/session/forward/address"
	"ptyctl/term"
)

// forwardOptions returns the options of the configuration; nil: nothing is forwarded.
func forwardOptions(c config.Forward) *forward.Options {
	if len(c.Allow) == 0 {
		return nil
	}
	return &forward.Options{TCP: c.TCP, Max: c.Max, MaxConnections: c.MaxConnections, Rate: c.MaxRate}
}

// forwardPatterns reads forward.allow. A wrong entry is a *ConfigError.
func forwardPatterns(cfg config.Config) (list []address.Pattern, err error) {
	for _, text := range cfg.Forward.Allow {
		p, err := address.ParsePattern(text)
		if err != nil {
			return nil, &ConfigError{fmt.Errorf("%s: the entry %q of forward.allow %w", cfg.Origin("forward.allow"), text, err)}
		}
		list = append(list, p)
	}
	return list, nil
}

// CheckForward refuses an address that forward.allow does not have, and a TCP port that is not offered, before there is a
// connection to a host.
func CheckForward(cfg config.Config, to string, tcp bool) error {
	if len(cfg.Forward.Allow) == 0 {
		return &ConfigError{errors.New(`nothing may be forwarded: list the addresses in the configuration, as ` +
			`[forward] allow = ["db1:5432"]`)}
	}
	if tcp && !cfg.Forward.TCP {
		return &ConfigError{errors.New(`no TCP port may be used, because every user and web page of this machine can reach ` +
			`one; leave --tcp out and use the socket, or set in the configuration: [forward] tcp = true`)}
	}
	gate, err := forwardGate(cfg)
	if err != nil {
		return err
	}
	at, err := address.Parse(to)
	if err != nil {
		return term.Errorf(term.InvalidArgument, "the address %.300q %v", to, err)
	}
	return gate(term.Action{Verb: term.VerbForward, To: at.String()})
}

// forwardGate allows the forwards of forward.allow, and none to clients over HTTP unless they may use this machine: a
// socket of it is of no use to others. It applies in report mode, too: a destination that is not listed does not exist.
func forwardGate(cfg config.Config) (func(term.Action) error, error) {
	patterns, err := forwardPatterns(cfg)
	if err != nil {
		return nil, err
	}
	allowed := slices.Clone(cfg.Forward.Allow)
	return func(a term.Action) error {
		denied := func(rule, format string, args ...any) error {
			return &term.Error{
				Op: string(a.Verb), Session: a.Session, Kind: term.PolicyDenied,
				Facts: term.Facts{term.Denial{Rule: rule, Allowed: allowed}}, Msg: fmt.Sprintf(format, args...),
			}
		}
		if by := a.Actor.Transport; !cfg.Local.HTTP && !slices.Contains([]string{"", "stdio", "socket", "cli"}, by) {
			return denied("local.http", "forwards are off for clients over %s, which do not reach a socket of ptyctl's machine; "+
				"the operator may allow them (local.http = true)", by)
		}
		to, err := address.Parse(a.To)
		if err == nil && slices.ContainsFunc(patterns, func(p address.Pattern) bool { return p.Matches(to) }) {
			return nil
		}
		return denied("forward.allow", "connections to %s may not be forwarded; forward.allow has %s. A name is never allowed "+
			"by an entry for addresses, nor an address by one for names", a.To, strings.Join(allowed, ", "))
	}, nil
}
