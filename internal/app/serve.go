package app

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"ptyctl/config"
	"ptyctl/internal/resident"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/stdio"
)

// startTime is how long a client's first requests take: then the memory that only the start needs is given back.
const startTime = 100 * time.Millisecond

// Serve answers requests at the control socket and on every configured transport, until ctx ends or a transport does:
// when the client at stdio is gone, no other event would end a process that it has started.
func (a *App) Serve(ctx context.Context) error {
	a.serveControl()
	a.log.Info("serving", "version", a.version, "transport", string(a.cfg.Server.Transport))

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-time.After(startTime):
			resident.Release()
		case <-ctx.Done():
		}
	})
	var httpErr, stdioErr error
	cluster := a.serveCluster(ctx, stop)
	if a.http != nil {
		wg.Go(func() {
			defer stop()
			httpErr = a.http.serve(ctx)
		})
	}
	if a.cfg.Server.Transport != config.TransportHTTP {
		wg.Go(func() {
			defer stop()
			in, restore := Stdin()
			defer restore()
			stdioErr = stdio.Serve(ctx, a.server, in, os.Stdout, stdio.Options{
				MaxMessageBytes: a.cfg.Limits.MaxMessageBytes, MaxInFlight: a.cfg.Limits.MaxInFlight,
				Room: a.messages, Logger: a.log,
			})
		})
	}
	wg.Wait()
	return errors.Join(httpErr, stdioErr, cluster())
}

// serveControl answers people at the control socket.
func (a *App) serveControl() {
	a.control.serve(a.cfg, a.forPeople(), a.messages, a.metrics.Handler(), a.questions, a.feed)
}

// forPeople returns a server with the core tools, whichever tools agents are offered.
func (a *App) forPeople() *mcpapi.Server {
	if cfg := withCore(a.cfg); len(cfg.Server.Toolsets) != len(a.cfg.Server.Toolsets) {
		return a.newServer(cfg)
	}
	return a.server
}
