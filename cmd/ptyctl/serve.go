package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"

	"github.com/mark3labs/mcp-go/server"

	"ptyctl/config"
	"ptyctl/mcpapi"
)

// serve answers requests on each transport until ctx ends, or one of them does: when the client that has started us on
// stdio is gone, nobody would end us otherwise.
func serve(ctx context.Context, cfg config.Config, srv *server.MCPServer, web *httpEnd, log *slog.Logger) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	var webErr, stdioErr error
	if web != nil {
		wg.Go(func() {
			defer stop()
			webErr = web.handler.Serve(ctx, web.listener)
		})
	}
	if cfg.Server.Transport != config.TransportHTTP {
		wg.Go(func() {
			defer stop()
			stdioErr = mcpapi.ServeStdio(ctx, srv, os.Stdin, os.Stdout, mcpapi.StdioOptions{
				MaxMessageBytes: cfg.Limits.MaxMessageBytes, MaxInFlight: cfg.Limits.MaxInFlight, Logger: log,
			})
		})
	}
	wg.Wait()
	return errors.Join(webErr, stdioErr)
}
