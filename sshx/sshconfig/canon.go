package sshconfig

import (
	"net/netip"
	"strings"
)

// canonicalize returns the name to connect to, after HostName and, if set,
// CanonicalizeHostname (ssh_config(5)).
func (e *evaluator) canonicalize() string {
	host := e.opt.Host
	if name := e.text("HostName"); name != "" {
		expanded, err := expand(name, tokens{'h': host}, nil)
		if err != nil {
			e.refuse("HostName", e.origin("HostName"), err.Error())
			return host
		}
		host = expanded
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.String()
	}
	if strings.ContainsAny(host, "%:") || strings.Trim(host, "0123456789.") == "" {
		return host // a malformed address, not a name to look up
	}
	host = strings.ToLower(host)
	// With a proxy, the proxy resolves the name, unless the file says "always".
	mode := e.text("CanonicalizeHostname")
	if mode == "no" || !e.direct() && mode != "always" {
		return host
	}
	name, found := e.canonicalName(host)
	if found {
		return name
	}
	if len(e.permittedCNAMEs()) > 0 {
		if cname, err := e.opt.Resolve(e.ctx, host); err == nil {
			return e.followCNAME(host, cname)
		}
	}
	return host
}

// direct reports whether this machine, and not a proxy, resolves the name.
func (e *evaluator) direct() bool {
	if e.opt.Behind {
		return false
	}
	for _, name := range []string{"ProxyCommand", "ProxyJump"} {
		if v := e.text(name); v != "" && !strings.EqualFold(v, "none") {
			return false
		}
	}
	return true
}

// canonicalName tries CanonicalDomains in order. It refuses the host if none of them has it and
// CanonicalizeFallbackLocal is no.
func (e *evaluator) canonicalName(host string) (name string, found bool) {
	try := func(full string) bool {
		cname, err := e.opt.Resolve(e.ctx, full)
		if err == nil {
			name, found = e.followCNAME(strings.TrimSuffix(full, "."), cname), true
		}
		return found
	}
	if strings.HasSuffix(host, ".") {
		try(host)
	} else {
		if strings.Count(host, ".") > e.number("CanonicalizeMaxDots") {
			return "", false
		}
		for _, domain := range e.args("CanonicalDomains") {
			if domain == "none" || try(host+"."+domain+".") {
				break
			}
		}
	}
	if !found && e.text("CanonicalizeFallbackLocal") == "no" {
		e.refuse("CanonicalizeFallbackLocal", e.origin("CanonicalizeFallbackLocal"),
			"the host was found in none of the CanonicalDomains; give its full name")
	}
	return name, found
}

// permittedCNAMEs returns the rules of CanonicalizePermittedCNAMEs.
func (e *evaluator) permittedCNAMEs() []string {
	rules := e.args("CanonicalizePermittedCNAMEs")
	if len(rules) == 1 && rules[0] == "none" {
		return nil
	}
	return rules
}

// followCNAME returns cname if a rule of CanonicalizePermittedCNAMEs allows it, otherwise
// name.
func (e *evaluator) followCNAME(name, cname string) string {
	cname = strings.ToLower(strings.TrimSuffix(cname, "."))
	if cname == "" || cname == name || !validDomain(cname) {
		return name
	}
	for _, rule := range e.permittedCNAMEs() {
		source, target, ok := strings.Cut(rule, ":")
		if !ok { // "*"
			source, target = rule, rule
		}
		if matchHostList(name, source) && matchHostList(cname, target) {
			return cname
		}
	}
	return name
}
