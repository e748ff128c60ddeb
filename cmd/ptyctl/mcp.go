package main

import (
	"context"
	"errors"
	"os"

	"github.com/urfave/cli/v2"

	"ptyctl/mcpapi"
)

func mcpCommand() *cli.Command {
	return &cli.Command{
		Name: "mcp", Aliases: []string{"serve"},
		Usage:  "serve MCP: this is what an MCP client starts",
		Flags:  configFlags(),
		Action: runMCP,
	}
}

func runMCP(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	cfg, warnings, err := loadConfig(c)
	if err != nil {
		return err
	}
	log, closeLog, err := newLogger(cfg.Logging)
	if err != nil {
		return err
	}
	defer closeLog()
	for _, w := range warnings {
		log.Warn("configuration", "where", w.Where, "warning", w.Message)
	}

	trail, err := newAudit(cfg.Audit, log)
	if err != nil {
		return err
	}
	sessions, err := newManager(cfg, trail, log)
	if err != nil {
		return errors.Join(err, trail.Close())
	}
	srv := newServer(cfg, sessions, log)
	log.Info("serving", "version", version(), "transport", string(cfg.Server.Transport))
	err = mcpapi.ServeStdio(c.Context, srv, os.Stdin, os.Stdout, mcpapi.StdioOptions{
		MaxMessageBytes: cfg.Limits.MaxMessageBytes, MaxInFlight: cfg.Limits.MaxInFlight, Logger: log,
	})
	// The signal that ended us must not cut this short; Close has its own limit.
	sessions.Close(context.WithoutCancel(c.Context))
	err = errors.Join(err, trail.Close())
	log.Info("stopped")
	return err
}
