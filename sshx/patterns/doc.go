// Package patterns matches names against the patterns of ssh_config(5) "PATTERNS", which known_hosts and certificates
// use as well.
//
//	patterns.MatchList("web1.example.org", "*.example.org,!db*") // true
//
// It is cheap whatever the pattern, which may come from a stranger: at most len(name)*len(pattern) steps.
package patterns
