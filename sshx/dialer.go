package sshx

import (
	"context"
	"errors"

	"ptyctl/term"
)

// A Network connects the sessions of one process to their hosts, with the same
// options and with shared connections to jump hosts. A shared connection lasts as
// long as a session uses it.
type Network struct {
	o    Options
	pool *pool
}

// NewNetwork returns a Network without connections.
func NewNetwork(o Options) *Network { return &Network{o: o.withDefaults(), pool: newPool()} }

// HandshakesWaiting returns the number of connections that wait for their turn to
// log in, because the number of simultaneous logins to one host is limited.
func (n *Network) HandshakesWaiting() int { return int(n.pool.waiting.Load()) }

// Dialer returns the term.Dialer of SSH with a Network of its own.
func Dialer(o Options) term.Dialer { return NewNetwork(o).OpenShell }

// OpenShell is the term.Dialer of SSH: it makes a connection with one login
// shell, or without one if the server gives no terminal. Closing it closes the connection.
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
	if t.CommandsOnly {
		return &commands{c: c, why: term.OpenedForCommands}, nil
	}
	sh, err := c.Shell(ctx, t.PTY)
	if e, ok := errors.AsType[*term.Error](err); ok && e.Reason == term.ReasonPTYRefused {
		// Like ssh(1), which goes on without one; but a shell without a prompt is of use only to those who ask for it,
		// and the account may have a command in place of a shell.
		return &commands{c: c, why: e.Msg, warnings: []string{
			"no terminal and no shell was started: " + e.Msg + "; commands run on channels",
		}}, nil
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	sh.owns = true
	return sh, nil
}
