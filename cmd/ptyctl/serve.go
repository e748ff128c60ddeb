package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
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

// knownToolsets refuses names that are none.
func knownToolsets(names []string) error {
	for _, name := range names {
		if known := mcpapi.Toolsets(); !slices.Contains(known, name) {
			return fmt.Errorf("there is no set of tools %q (server.toolsets, --toolsets); give one or more of %s, or none for all", name, strings.Join(known, ", "))
		}
	}
	return nil
}
