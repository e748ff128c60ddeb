// Package patterns matches names against the patterns of ssh_config(5) "PATTERNS", which
// known_hosts files and certificates use as well. For example:
//
//	patterns.MatchList("web1.example.org", "*.example.org,!db*") // true
//
// A pattern may come from an untrusted server, so the cost must stay low for any pattern: a
// match takes at most len(name)*len(pattern) steps.
package patterns
