package sshx

import (
	"context"

	"ptyctl/term"
)

// Dialer returns the term.Dialer of SSH: a connection with one login shell, which closes it when it is closed.
func Dialer(o Options) term.Dialer {
	o = o.withDefaults()
	shared := newPool()
	return func(ctx context.Context, t term.Target, p term.Prompter) (term.Transport, error) {
		if t.Auth.NoInteractive {
			p = nil
		}
		c, err := dial(ctx, t, o, p, shared)
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
}
