package toolset

import (
	"context"

	"ptyctl/fleet"
	"ptyctl/fleet/nodes"
)

// A Fleet has the state that commands on many hosts need. Without Runs no such tool may be offered.
type Fleet struct {
	Runs  *fleet.Fleets
	Nodes func(context.Context) *nodes.Book // the known hosts and groups; nil: none
}

// Runs returns the commands on many hosts.
func Runs(c *Call) *fleet.Fleets { return c.shared.Fleet.Runs }

// Nodes returns the known hosts and groups, as they are now.
func Nodes(ctx context.Context, c *Call) *nodes.Book {
	if c.shared.Fleet.Nodes == nil {
		return nodes.Sources{}.Read(ctx)
	}
	return c.shared.Fleet.Nodes(ctx)
}
