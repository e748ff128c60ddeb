package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/term"
)

// list returns the sessions that the caller may see and that match the filters. The capabilities are those of ptyctl;
// a session's own are in the result of its open.
func listSessions(ctx context.Context, c *toolset.Call, in *sessionArgs, out *sessionOut) error {
	var states []session.State
	if in.State != "" {
		states = []session.State{in.State}
	}
	filter := listFilter{State: in.State, Protocol: in.Protocol, Host: in.Host}
	known, resumable := toolset.Known(ctx, c, states...)
	out.list(known, filter, func(i session.Info) wire.ListEntry {
		e := wire.NewListEntry(i, wire.WordsFor(ctx))
		e.Resumable = resumable(i)
		if shim := i.Owner.Principal.Shim; shim != "" && toolset.ByPerson(ctx) && e.Orphaned == 0 {
			e.Owner = shim + " (" + i.Owner.Place.String() + ")"
		}
		return e
	})
	out.elsewhere(ctx, c, filter)
	// People at the control socket are at this node: they say so when they want to know of all.
	if !toolset.ByPerson(ctx) || c.Action() == listAll {
		out.others(ctx, c)
	}
	// The capabilities that a session of this server can have. A client uses them to decide whether to open one.
	out.Capabilities = &wire.Capabilities{
		SplitStdoutStderr: term.Yes,
		ExitCode:          term.Yes,
		Resize:            term.Yes,
		Signal:            term.Maybe,
		ParallelExec:      term.Yes,
	}
	return nil
}

// listAll is list for people, with the sessions of all nodes. It has no filters.
const listAll = "list_all"

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

// list adds the matching sessions to the result: first those that are open or connecting, then the ended ones, each
// group oldest first. count is the number before the cut.
func (out *sessionOut) list(all []session.Info, f listFilter, entry func(session.Info) wire.ListEntry) {
	entries, ended := []wire.ListEntry{}, []wire.ListEntry{}
	for _, i := range all {
		switch {
		case !f.matches(i):
		case i.State.Ended():
			ended = append(ended, entry(i))
		default:
			entries = append(entries, entry(i))
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

// elsewhere adds the sessions of the caller that daemons of other versions keep, so that it knows of them.
func (out *sessionOut) elsewhere(ctx context.Context, c *toolset.Call, f listFilter) {
	named := make(map[int]bool)
	for _, o := range toolset.NotHere(ctx, c) {
		if !f.matches(o.Session) {
			continue
		}
		e := wire.NewListEntry(o.Session, wire.WordsFor(ctx))
		e.Daemon = o.Daemon
		*out.Count++
		if len(*out.Sessions) < MaxListed {
			*out.Sessions = append(*out.Sessions, e)
		} else {
			out.More = true
		}
		if !named[o.PID] {
			named[o.PID] = true
			c.Inform(fmt.Sprintf("sessions with daemon %q are kept by an %[1]s version of ptyctl (%s, process %d) until they end; "+
				"no call here can use them: open new ones, or have a person use them (ptyctl attach --pid %[3]d SESSION)",
				o.Daemon, o.Build, o.PID))
		}
	}
}

// SessionList returns the result of list for these sessions and the sessions of other nodes, as a resource shows it.
func SessionList(
	all []session.Info, resumable func(session.Info) bool, w wire.Words, others []toolset.Gathered,
) any {
	out := &sessionOut{Action: "list", Success: true}
	out.list(all, listFilter{}, func(i session.Info) wire.ListEntry {
		e := wire.NewListEntry(i, w)
		e.Resumable = resumable(i)
		return e
	})
	for _, a := range others {
		_ = out.add(a) // it is in Unanswered
	}
	return out
}

// others adds the sessions of the other nodes, and says which of those have not answered.
func (out *sessionOut) others(ctx context.Context, c *toolset.Call) {
	arguments := c.Arguments()
	if c.Action() == listAll {
		arguments = json.RawMessage(`{"action":"list"}`)
	}
	for _, a := range toolset.Gather(ctx, c, arguments) {
		if err := out.add(a); err != nil {
			c.Inform(fmt.Sprintf("node %s has not answered, so its sessions are not in the list, and may be there: %.200v", a.Node, err))
		}
	}
}

// add adds the sessions of another node, or that it has not answered.
func (out *sessionOut) add(a toolset.Gathered) error {
	var got struct {
		Sessions []wire.ListEntry `json:"sessions"`
		Count    int              `json:"count"`
		More     bool             `json:"more"`
	}
	if a.Err == nil {
		a.Err = json.Unmarshal(a.Result, &got)
	}
	if a.Err != nil {
		out.Unanswered = append(out.Unanswered, a.Node)
		return a.Err
	}
	*out.Count += got.Count
	room := MaxListed - len(*out.Sessions)
	out.More = out.More || got.More || len(got.Sessions) > room
	*out.Sessions = append(*out.Sessions, got.Sessions[:min(len(got.Sessions), room)]...)
	return nil
}
