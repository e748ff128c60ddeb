package sshconfig

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
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

const maxEntries = 100_000 // most directory entries for all Include patterns together

// glob returns the sorted paths that match pattern, like glob(3): a wildcard does not match a
// leading dot, and a path without wildcards is returned as it is. Unlike filepath.Glob it has
// a limit on the directory entries it reads.
func (e *evaluator) glob(pattern string) ([]string, error) {
	// The path is matched part by part, because only then the entries read can be counted.
	volume := filepath.VolumeName(pattern)
	parts := strings.Split(filepath.ToSlash(pattern[len(volume):]), "/")
	paths, wild := []string{volume}, false
	for i, part := range parts {
		if i > 0 {
			for j := range paths {
				paths[j] += string(filepath.Separator)
			}
		}
		if !strings.ContainsAny(part, `*?[`) {
			for j := range paths {
				paths[j] += part
			}
			continue
		}
		wild = true
		// glob(3) writes [!a] where package filepath writes [^a].
		part = strings.ReplaceAll(part, "[!", "[^")
		if _, err := filepath.Match(part, ""); err != nil {
			return nil, errors.New("the pattern is malformed: a bracket is not closed")
		}
		var found []string
		for _, dir := range paths {
			entries, err := os.ReadDir(dir)
			if err != nil {
				continue // an unreadable directory counts as empty
			}
			if e.budget.entries += len(entries); e.budget.entries > maxEntries {
				return nil, errors.New("the pattern covers too many files: name the directory")
			}
			for _, entry := range entries {
				name := entry.Name()
				if strings.HasPrefix(name, ".") && !strings.HasPrefix(part, ".") {
					continue
				}
				if ok, _ := filepath.Match(part, name); ok {
					found = append(found, dir+name)
				}
			}
		}
		paths = found
	}
	if wild {
		// The part after the last wildcard was appended without a check.
		paths = slices.DeleteFunc(paths, func(path string) bool {
			_, err := os.Lstat(path)
			return err != nil
		})
	}
	slices.Sort(paths)
	return paths, nil
}
