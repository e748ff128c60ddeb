package sshconfig

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ptyctl/sshx/patterns"
)

// matchHost evaluates the patterns of a Host line. A negated pattern that matches makes the
// whole line fail.
func (e *evaluator) matchHost(names []string) (bool, error) {
	if len(names) == 0 {
		return false, errMissing
	}
	found := false
	for _, p := range names {
		if p == "" {
			return false, errors.New("an argument is empty: the block is skipped")
		}
		positive, negated := strings.CutPrefix(p, "!")
		if !patterns.Match(e.host, positive) {
			continue
		}
		if negated {
			return false, nil
		}
		found = true
	}
	return found, nil
}

// connectHost returns the name to connect to, as far as it is known at this line.
func (e *evaluator) connectHost() string {
	if e.final {
		return e.host
	}
	name := e.text("HostName")
	if name == "" {
		return e.opt.Host
	}
	host, err := expand(name, tokens{'h': e.opt.Host}, nil)
	if err != nil {
		return name // reported when HostName itself is evaluated
	}
	return host
}

// criteria are the names in a Match line that take an argument; all, canonical and final take
// none.
var criteria = []string{
	"host", "originalhost", "user", "localuser", "localnetwork", "tagged",
	"version", "command", "sessiontype", "exec",
}

// match evaluates a Match line (ssh_config(5), Match). With an error it matches nothing.
// dormant is true inside an included file that has no effect; then no program is run.
func (e *evaluator) match(args []string, origin Origin, dormant bool) (bool, error) {
	if len(args) == 0 {
		return false, errMissing
	}
	result := true
	for n := 0; len(args) > 0; n++ {
		word, negated := strings.CutPrefix(args[0], "!")
		args = args[1:]
		name, arg, attached := strings.Cut(word, "=")
		name = strings.ToLower(name)
		switch name {
		case "all":
			if n > 1 || len(args) > 0 || attached {
				return false, errors.New("all cannot be combined with other criteria: the block is skipped")
			}
			return result && !negated, nil
		case "canonical", "final":
			if attached {
				return false, fmt.Errorf("%s takes no argument: the block is skipped", name)
			}
			// Only "final" requests a second pass; "canonical" waits for one.
			e.wantFinal = e.wantFinal || name == "final" && !negated
			result = result && e.final != negated
			continue
		}
		if !slices.Contains(criteria, name) {
			return false, fmt.Errorf("the criterion %q is not known: the block is skipped", name)
		}
		if !attached {
			if len(args) == 0 {
				return false, fmt.Errorf("the argument of %s is missing: the block is skipped", name)
			}
			arg, args = args[0], args[1:]
		}
		if arg == "" && name != "tagged" && name != "command" {
			return false, fmt.Errorf("the argument of %s is empty: the block is skipped", name)
		}
		if name == "exec" && (!result || dormant) {
			continue // the answer has no effect, so no program is run
		}
		ok, err := e.criterion(name, arg, origin)
		if err != nil {
			return false, err
		}
		result = result && ok != negated
	}
	return result, nil
}

// criterion evaluates one criterion that has an argument.
func (e *evaluator) criterion(name, arg string, origin Origin) (bool, error) {
	switch name {
	case "host":
		return matchHostList(e.connectHost(), arg), nil
	case "originalhost":
		return matchHostList(e.opt.Host, arg), nil
	case "user":
		return patterns.MatchList(e.user(), arg), nil
	case "localuser":
		return patterns.MatchList(e.opt.LocalUser, arg), nil
	case "localnetwork":
		return e.matchNetwork(arg)
	case "tagged":
		return matchOrEmpty(e.text("Tag"), arg), nil
	case "version":
		return patterns.MatchList(e.opt.Version, arg), nil
	case "command":
		return matchOrEmpty(e.opt.Command, arg), nil
	case "sessiontype":
		return patterns.MatchList(e.sessionType(), arg), nil
	}
	return e.matchExec(arg, origin)
}

// matchOrEmpty is patterns.MatchList for a text that may be unset: only the empty list
// matches it.
func matchOrEmpty(s, list string) bool {
	if s == "" {
		return list == ""
	}
	return patterns.MatchList(s, list)
}

// sessionType returns the type for Match sessiontype.
func (e *evaluator) sessionType() string {
	switch t := e.text("SessionType"); {
	case e.opt.SessionType != "":
		return e.opt.SessionType
	case t != "default":
		return t
	case e.opt.Command != "":
		return "exec"
	}
	return "shell"
}

// matchNetwork reports whether an address of this machine is in one of the networks.
func (e *evaluator) matchNetwork(list string) (bool, error) {
	nets, err := parseNetworks(list)
	if err != nil {
		return false, fmt.Errorf("localnetwork: %w; the block is skipped", err)
	}
	addrs, err := e.opt.Interfaces()
	if err != nil {
		return false, fmt.Errorf("localnetwork: the addresses of this machine are not known: %w; "+
			"the block is skipped", err)
	}
	for _, addr := range addrs {
		for _, n := range nets {
			if n.Contains(addr.WithZone("")) {
				return true, nil
			}
		}
	}
	return false, nil
}

// matchExec asks Options.Exec, if the operator wrote the line and allows programs.
func (e *evaluator) matchExec(command string, origin Origin) (bool, error) {
	switch {
	case origin.Caller():
		return false, errors.New("exec is refused: what a caller supplies never runs a program; the block is skipped")
	case !e.opt.AllowExec || e.opt.Exec == nil:
		return false, errors.New(
			"exec is not allowed: the block is skipped; the operator can allow programs in ssh_config",
		)
	}
	expanded, err := e.expandCommand(command, e.tokens(e.connectHost()))
	if err != nil {
		return false, fmt.Errorf("exec: %w; the block is skipped", err)
	}
	ok, err := e.opt.Exec(e.ctx, expanded)
	if err != nil {
		return false, fmt.Errorf("exec: the command could not be run: %w; the block is skipped", err)
	}
	return ok, nil
}
