package mcpapi

import (
	"strings"

	"ptyctl/session"
)

// maxListed bounds the sessions in one list; more says that some were left out.
const maxListed = 100

// A listFilter says which sessions to list; empty members match all.
type listFilter struct {
	State    session.State
	Protocol string
	Host     string // with a * at its start, its end or both for any text
}

// matches reports whether a session passes all given members.
func (f *listFilter) matches(i session.Info) bool {
	return (f.State == "" || f.State == i.State) && (f.Protocol == "" || f.Protocol == i.Protocol) &&
		(f.Host == "" || hostMatches(f.Host, i.Host))
}

// hostMatches compares names without regard to case, as DNS does.
func hostMatches(pattern, host string) bool {
	pattern, host = strings.ToLower(pattern), strings.ToLower(host)
	rest, open := strings.CutPrefix(pattern, "*")
	text, openEnd := strings.CutSuffix(rest, "*")
	switch {
	case open && openEnd:
		return strings.Contains(host, text)
	case open:
		return strings.HasSuffix(host, text)
	case openEnd:
		return strings.HasPrefix(host, text)
	}
	return host == pattern
}

// list puts the matching sessions into the result: first those that are open or connecting, then the ended ones, each
// group oldest first. count is the number before the cut.
func (out *sessionOut) list(all []session.Info, f listFilter, w words) {
	entries, ended := []listEntry{}, []listEntry{}
	for _, i := range all {
		switch {
		case !f.matches(i):
		case i.State.Ended():
			ended = append(ended, newListEntry(i, w))
		default:
			entries = append(entries, newListEntry(i, w))
		}
	}
	entries = append(entries, ended...)
	count := len(entries)
	out.Count, out.More = &count, count > maxListed
	entries = entries[:min(count, maxListed)]
	out.Sessions = &entries
}

// sessionList is the result of list for these sessions, as a resource shows it.
func sessionList(all []session.Info, w words) any {
	out := &sessionOut{Action: "list", Success: true}
	out.list(all, listFilter{}, w)
	return out
}
