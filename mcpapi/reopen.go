package mcpapi

import (
	"context"
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"ptyctl/mcpapi/peers"
	"ptyctl/term"
)

// reopens reports whether the call is to connect an ended session again.
func (c *invocation) reopens() bool {
	return c.Action() == "reopen" && !c.t.set.Foreign() && c.s.shared.Memory != nil
}

// reopen has a session of a lost node reopened by the node that is chosen for a new session like it. It reports false
// if that is this node.
func (c *invocation) reopen(ctx context.Context, gone string, r request) (result *mcp.CallToolResult, ok bool, err error) {
	id := c.Text("session_id")
	ctx = c.Acting(ctx, c.Text("task_id"))
	k, err := c.s.shared.Lost(ctx, id)
	if err == nil && k == nil {
		// The error is the same for a session that the caller must not know of and for one that never existed.
		err = &term.Error{
			Op: "open", Session: id, Kind: term.NotFound, Reason: term.ReasonNoSession,
			Msg: fmt.Sprintf("node %s does not run, or is cut off, and nothing is kept of a session %q that could be reopened", gone, id),
		}
		c.s.m.ServerView().Refused(ctx, id, term.VerbOpen, err)
	}
	if err != nil {
		return nil, true, err
	}
	all, need := c.s.o.Cluster.Peers, peers.Need{Host: k.Target.Host, Device: k.Device, Not: []string{gone}}
	for tried := 1; ; tried++ {
		node, err := all.Place(ctx, need)
		if err != nil {
			return nil, true, err
		}
		if node == all.Node() {
			return nil, false, nil
		}
		result, err = c.forward(ctx, node, "", r)
		if tried == placements || !errors.Is(err, term.NodeUnreachable) {
			return result, true, err
		}
		need.Not = append(need.Not, node)
	}
}
