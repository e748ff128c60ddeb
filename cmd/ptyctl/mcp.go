package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"ptyctl/mcpapi"
	"ptyctl/mcpapi/toolset/aiterm"
)

func mcpCommand() *cli.Command {
	return &cli.Command{
		Name: "mcp", Aliases: []string{"serve"},
		Usage:  "serve MCP: this is what an MCP client starts",
		Flags:  append(configFlags(), authTokenFlag),
		Action: runMCP,
	}
}

func runMCP(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	if c.IsSet(authTokenFlag.Name) {
		return errAuthTokenFlag
	}
	cfg, warnings, err := loadConfig(c)
	if err != nil {
		return err
	}
	loaded := cfg // as it was read: what is decided below is no change when it is read again
	ai := aiterm.New()
	if err := mcpapi.CheckToolsets(cfg.Server.Toolsets, moreToolsets(cfg.Toolsets, ai)); err != nil {
		return usageError{err}
	}
	logs, err := newLogger(cfg.Logging)
	if err != nil {
		return err
	}
	defer logs.close()
	log := logs.Logger
	for _, w := range warnings {
		log.Warn("configuration", "where", w.Where, "warning", w.Message)
	}
	if unprotected != nil {
		log.Warn(
			"other programs of this user may read secrets of this process: its protection has failed; see ptyctl doctor",
			"err",
			unprotected.Error(),
		)
	}

	gate, err := newGate(cfg, log)
	if err != nil {
		return err
	}
	ctl, err := listenControl(&cfg, log)
	if err != nil {
		return err
	}
	defer ctl.close()
	trail, err := newAudit(cfg.Audit, log)
	if err != nil {
		return err
	}
	host := localHost(cfg.Local)
	if err := host.Sandbox.Check(); err != nil {
		return fmt.Errorf("%w (local.read_paths, local.write_paths)", err)
	}
	defer superviseLocal(cfg.Local, log)()
	watch := mcpapi.NewWatch()
	defer watch.Close()
	pages := mcpapi.NewPages()
	defer pages.Close()
	ways, err := newWays(cfg, log)
	if err != nil {
		return errors.Join(err, trail.Close())
	}
	here, err := localFiles(cfg.FS)
	if err != nil {
		return errors.Join(err, trail.Close())
	}
	defer closeFiles(here)
	sessions, numbers := newManager(cfg, gate, ways, here, trail, watch, ai, log)
	srv := newServer(cfg, sessions, watch, pages, ai, log)
	web, err := newHTTP(cfg, srv, numbers.Handler(), log)
	if err != nil {
		return errors.Join(err, trail.Close())
	}
	people := srv
	if with := forPeople(cfg); len(with.Server.Toolsets) != len(cfg.Server.Toolsets) {
		people = newServer(with, sessions, watch, pages, ai, log)
	}
	ctl.serve(cfg, people, numbers.Handler())
	defer reloadOnHangup(c.Context, &reloader{cfg: loaded, source: source(c), log: logs, ways: ways})()
	log.Info("serving", "version", version(), "transport", string(cfg.Server.Transport))
	err = serve(c.Context, cfg, srv, web, log)
	// The signal that ended us must not cut this short; Close has its own limit.
	sessions.Close(context.WithoutCancel(c.Context))
	err = errors.Join(err, trail.Close())
	log.Info("stopped")
	return err
}
