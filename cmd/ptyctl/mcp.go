package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"ptyctl/config"
)

func mcpCommand() *cli.Command {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "config", Usage: "configuration `FILE`; default " + config.DefaultPath()},
	}
	for _, k := range config.Keys() {
		switch {
		case k.Flag.Name == "":
		case k.Flag.Value != "":
			flags = append(flags, &cli.BoolFlag{Name: k.Flag.Name, Usage: fmt.Sprintf("set %s to %s: %s", k.Path, k.Flag.Value, k.Doc)})
		default:
			flags = append(flags, &cli.StringFlag{Name: k.Flag.Name, Usage: k.Doc})
		}
	}
	return &cli.Command{
		Name: "mcp", Aliases: []string{"serve"},
		Usage:  "serve MCP: this is what an MCP client starts",
		Flags:  append(flags, authTokenFlag),
		Action: runMCP,
	}
}

// source says where the configuration comes from, given the flags of this call.
func source(c *cli.Context) config.Source {
	s := config.Source{Path: c.String("config"), Flags: make(map[string]string)}
	for _, k := range config.Keys() {
		switch {
		case k.Flag.Name == "" || !c.IsSet(k.Flag.Name):
		case k.Flag.Value == "":
			s.Flags[k.Path] = c.String(k.Flag.Name)
		case c.Bool(k.Flag.Name):
			s.Flags[k.Path] = k.Flag.Value
		}
	}
	return s
}

func runMCP(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	if c.IsSet(authTokenFlag.Name) {
		return errAuthTokenFlag
	}
	cfg, warnings, err := config.Load(source(c))
	if err != nil {
		return usageError{fmt.Errorf("the configuration is wrong:\n%w", err)}
	}
	if err := knownToolsets(cfg.Server.Toolsets); err != nil {
		return usageError{err}
	}
	log, closeLog, err := newLogger(cfg.Logging)
	if err != nil {
		return err
	}
	defer closeLog()
	for _, w := range warnings {
		log.Warn("configuration", "where", w.Where, "warning", w.Message)
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
	sessions, numbers, err := newManager(cfg, trail, log)
	if err != nil {
		return errors.Join(err, trail.Close())
	}
	srv := newServer(cfg, sessions, log)
	web, err := newHTTP(cfg, srv, numbers.Handler(), log)
	if err != nil {
		return errors.Join(err, trail.Close())
	}
	ctl.serve(cfg, srv, numbers.Handler())
	log.Info("serving", "version", version(), "transport", string(cfg.Server.Transport))
	err = serve(c.Context, cfg, srv, web, log)
	// The signal that ended us must not cut this short; Close has its own limit.
	sessions.Close(context.WithoutCancel(c.Context))
	err = errors.Join(err, trail.Close())
	log.Info("stopped")
	return err
}
