package sshx

import (
	"context"

	"ptyctl/term"
)

// A Network is how the sessions of one process reach their hosts: under the same options, and over the same connections
// to jump hosts, each of which lives as long as something runs through it.
type Network struct {
	o    Options
	pool *pool
}

// NewNetwork returns a Network without any connection.
func NewNetwork(o Options) *Network { return &Network{o: o.withDefaults(), pool: newPool()} }

// HandshakesWaiting is how many connections wait for their turn to log in, because as many to the same host as may be
// under way at a time are.
func (n *Network) HandshakesWaiting() int { return int(n.pool.waiting.Load()) }

// Dialer returns the term.Dialer of SSH on a Network of its own.
func Dialer(o Options) term.Dialer { return NewNetwork(o).OpenShell }

// OpenShell is the term.Dialer of SSH: a connection with one login shell, which closes it when it is closed.
func (n *Network) OpenShell(
	ctx context.Context,
	t term.Target,
	p term.Prompter,
	approve term.Approve,
) (term.Transport, error) {
	if t.Auth.NoInteractive {
		p = nil
	}
	c, err := dial(ctx, t, n.o, p, approve, n.pool)
	if err != nil {
		return nil, err
	}
	sh, err := c.Shell(ctx, t.PTY)
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	sh.owns = true
	return sh, nil
}
