package pty

import (
	"context"
	"fmt"

	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
)

// list shows the sessions that pty_spawn has opened and that the caller may see.
func (s *set) list(ctx context.Context, c *toolset.Call, _ *struct{}) (any, error) {
	var views []view
	for _, i := range c.Sessions(ctx) {
		if t := s.terminals.get(i.ID); t != nil {
			views = append(views, t.view(i))
		}
	}
	return wire.Answer{Text: listed(views)}, nil
}

// listed formats the list in the words of those servers.
func listed(views []view) string {
	if len(views) == 0 {
		return element("pty_list", "No PTY sessions found.")
	}
	lines := make([]string, 0, len(views)+1)
	for _, v := range views {
		lines = append(lines, v.entry())
	}
	return element("pty_list", append(lines, fmt.Sprintf("Total: %d session(s)", len(views)))...)
}
