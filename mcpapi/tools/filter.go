package tools

import (
	"strings"

	"ptyctl/mcpapi/wire"
	"ptyctl/session"
)

// MaxListed bounds the sessions in one list; more says that some were left out.
const MaxListed = 100

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
func (out *sessionOut) list(all []session.Info, f listFilter, w wire.Words) {
	entries, ended := []wire.ListEntry{}, []wire.ListEntry{}
	for _, i := range all {
		switch {
		case !f.matches(i):
		case i.State.Ended():
			ended = append(ended, wire.NewListEntry(i, w))
		default:
			entries = append(entries, wire.NewListEntry(i, w))
		}
	}
	// The live ones first, because a cut list must not hide a session that can still be used.
	entries = append(entries, ended...)
	// Counted before the cut, so that a caller sees how much it missed.
	count := len(entries)
	out.Count, out.More = &count, count > MaxListed
	entries = entries[:min(count, MaxListed)]
	out.Sessions = &entries
}

// SessionList is the result of list for these sessions, as a resource shows it.
func SessionList(all []session.Info, w wire.Words) any {
	out := &sessionOut{Action: "list", Success: true}
	out.list(all, listFilter{}, w)
	return out
}
