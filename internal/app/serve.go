package app

import (
	"context"
	"errors"
	"os"
	"sync"

	"ptyctl/config"
	"ptyctl/mcpapi/stdio"
)

// Serve answers requests at the control socket and on every configured transport, until ctx ends or a transport does:
// when the client at stdio is gone, no other event would end a process that it has started.
func (a *App) Serve(ctx context.Context) error {
	a.serveControl()
	a.log.Info("serving", "version", a.version, "transport", string(a.cfg.Server.Transport))

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	var httpErr, stdioErr error
	if a.http != nil {
		wg.Go(func() {
			defer stop()
			httpErr = a.http.handler.Serve(ctx, a.http.listener)
		})
	}
	if a.cfg.Server.Transport != config.TransportHTTP {
		wg.Go(func() {
			defer stop()
			stdioErr = stdio.Serve(ctx, a.server, os.Stdin, os.Stdout, stdio.Options{
				MaxMessageBytes: a.cfg.Limits.MaxMessageBytes, MaxInFlight: a.cfg.Limits.MaxInFlight,
				Room: a.messages, Logger: a.log,
			})
		})
	}
	wg.Wait()
	return errors.Join(httpErr, stdioErr)
}

// serveControl answers people at the control socket, with the core tools whichever tools agents are offered.
func (a *App) serveControl() {
	atSocket := a.server
	if cfg := withCore(a.cfg); len(cfg.Server.Toolsets) != len(a.cfg.Server.Toolsets) {
		atSocket = a.newServer(cfg)
	}
	a.control.serve(a.cfg, atSocket, a.messages, a.metrics.Handler(), a.questions, a.feed)
}
