package main

import (
	"context"
	"log/slog"
	"sync/atomic"

	"ptyctl/config"
	"ptyctl/sshx"
	"ptyctl/term"
)

// ways are how new sessions reach their hosts. They are replaced as a whole when the configuration is read again; a session
// keeps the way on which it was opened, with its connections.
type ways struct{ current atomic.Pointer[way] }

// A way is all that follows from one reading of [ssh] and [telnet].
type way struct {
	network *sshx.Network
	telnet  term.Dialer
}

func newWays(cfg config.Config, log *slog.Logger) (*ways, error) {
	w := new(ways)
	return w, w.replace(cfg, log)
}

// replace makes cfg count for sessions opened from now on; after an error all is as it was.
func (w *ways) replace(cfg config.Config, log *slog.Logger) error {
	network := sshx.NewNetwork(sshOptions(cfg, log))
	telnet, err := telnetDialer(cfg, network)
	if err != nil {
		return err
	}
	w.current.Store(&way{network, telnet})
	return nil
}

// dialers are those of the manager, by protocol.
func (w *ways) dialers() map[string]term.Dialer {
	return map[string]term.Dialer{
		"ssh": func(ctx context.Context, t term.Target, p term.Prompter, approve term.Approve) (term.Transport, error) {
			return w.current.Load().network.OpenShell(ctx, t, p, approve)
		},
		"telnet": func(ctx context.Context, t term.Target, p term.Prompter, approve term.Approve) (term.Transport, error) {
			return w.current.Load().telnet(ctx, t, p, approve)
		},
	}
}

// handshakesWaiting counts those of the newest way.
func (w *ways) handshakesWaiting() int { return w.current.Load().network.HandshakesWaiting() }
