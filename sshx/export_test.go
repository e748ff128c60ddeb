package sshx

import (
	"context"
	"net"

	"ptyctl/term"
)

// WithDial returns o with dial instead of TCP to the first hop.
func (o Options) WithDial(dial func(ctx context.Context, network, address string) (net.Conn, error)) Options {
	o.dialFirst = dial
	return o
}

// Describe returns the facts about the connection.
func (c *Client) Describe() term.Description { return c.describe() }
