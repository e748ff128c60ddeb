package sshconfig

import (
	"fmt"
	"net/netip"
	"strings"

	"ptyctl/sshx/patterns"
)

// matchHostList is patterns.MatchList for host names, which ignore case.
func matchHostList(host, list string) bool {
	return patterns.MatchList(strings.ToLower(host), strings.ToLower(list))
}

// parseNetworks parses the argument of Match localnetwork: addresses and CIDR
// networks, separated by commas.
func parseNetworks(list string) ([]netip.Prefix, error) {
	var nets []netip.Prefix
	for s := range strings.SplitSeq(list, ",") {
		if !strings.Contains(s, "/") {
			addr, err := netip.ParseAddr(s)
			if err != nil {
				return nil, fmt.Errorf("%q is neither an address nor a network such as 10.0.0.0/8", s)
			}
			nets = append(nets, netip.PrefixFrom(addr, addr.BitLen()))
			continue
		}
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return nil, fmt.Errorf("%q is not a network such as 10.0.0.0/8", s)
		}
		if p != p.Masked() {
			return nil, fmt.Errorf("%q has bits set beyond its mask: write %s", s, p.Masked())
		}
		nets = append(nets, p)
	}
	return nets, nil
}

// validHost reports whether s is safe as a host name from a caller: it contains no character
// with a meaning for a shell, and no option parser takes it for an option.
func validHost(s string) bool {
	if s == "" || s[0] == '-' || len(s) > 255 {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return strings.ContainsRune("'`\"$\\;&<>|(){},", r) || isSpace(r) || isControl(r)
	})
}

// validUser is validHost for user names, which may contain blanks and backslashes
// (DOMAIN\user), but no blank before a "-" and no backslash at the end.
func validUser(s string) bool {
	if s == "" || s[0] == '-' || len(s) > 255 || strings.HasSuffix(s, `\`) {
		return false
	}
	for i, r := range s {
		if isControl(r) || strings.ContainsRune("'`\";&<>|(){}", r) {
			return false
		}
		if r == ' ' && strings.HasPrefix(s[i+1:], "-") {
			return false
		}
	}
	return true
}

func isSpace(r rune) bool   { return r == ' ' || r >= '\t' && r <= '\r' }
func isControl(r rune) bool { return r < ' ' || r == 0x7f }
