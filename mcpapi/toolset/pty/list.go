package pty

import (
	"context"
	"encoding/json"
	"fmt"

	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
)

// A listing is the result of pty_list.
type listing struct {
	Entries []string `json:"entries"` // sessions of this node first, oldest first

	unanswered []string // nodes
	hidden     int      // sessions of other nodes for which there is no room
}

// list shows the sessions that pty_spawn has opened and that the caller may see, on all nodes.
func (s *set) list(ctx context.Context, c *toolset.Call, _ *struct{}) (any, error) {
	out := new(listing)
	for _, i := range c.Sessions(ctx) {
		if t := s.terminals.get(i.ID); t != nil {
			out.Entries = append(out.Entries, t.view(i).entry())
		}
	}
	for _, a := range toolset.Gather(ctx, c, json.RawMessage("{}")) {
		out.add(a)
	}
	return out, nil
}

// add adds the sessions of another node, or that it has not answered.
func (out *listing) add(a toolset.Gathered) {
	var far listing
	if a.Err == nil {
		a.Err = json.Unmarshal(a.Result, &far)
	}
	if a.Err != nil {
		out.unanswered = append(out.unanswered, a.Node)
		return
	}
	shown := min(len(far.Entries), max(toolset.MaxGathered-len(out.Entries), 0))
	out.Entries, out.hidden = append(out.Entries, far.Entries[:shown]...), out.hidden+len(far.Entries)-shown
}

// Answer formats the list in the words of those servers. It implements wire.Shown.
func (out *listing) Answer() wire.Answer {
	lines, total := out.Entries, fmt.Sprintf("Total: %d session(s)", len(out.Entries)+out.hidden)
	switch {
	case len(lines) == 0:
		total = "No PTY sessions found."
	case out.hidden > 0:
		lines = append(lines, fmt.Sprintf("(%d more at other nodes are not shown)", out.hidden))
	}
	for _, node := range out.unanswered {
		lines = append(lines, fmt.Sprintf("(Node %s has not answered: its sessions are missing here)", node))
	}
	return wire.Answer{Text: element("pty_list", append(lines, total)...)}
}
