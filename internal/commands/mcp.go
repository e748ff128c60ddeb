package commands

import (
	"cmp"
	"errors"

	"ptyctl/internal/cli"

	"ptyctl/internal/app"
	"ptyctl/internal/logging"
)

func mcpCommand(p Program) *cli.Command {
	return &cli.Command{
		Name: "mcp", Aliases: []string{"serve"},
		Usage:  "serve MCP: this is what an MCP client starts",
		Flags:  append(configFlags(), daemonFlag, authTokenFlag),
		Action: func(c *cli.Context) error { return runMCP(c, p) },
	}
}

func runMCP(c *cli.Context, p Program) error {
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
	if err := cmp.Or(p.servable(cfg), app.CheckToolsets(cfg)); err != nil {
		return err
	}
	logs, err := logging.New(cfg.Logging)
	if err != nil {
		return err
	}
	defer logs.Close()
	log := logs.Logger
	logConfig(logs, warnings)
	if c.Bool(daemonFlag.Name) {
		return runShim(c, cfg, logs)
	}
	cluster, err := p.join(c.Context, cfg, log, c.App.Version)
	if err != nil {
		return err
	}
	a, err := app.New(cfg, app.Options{Version: c.App.Version, Logger: log, Cluster: cluster})
	if err != nil {
		return err
	}
	defer a.ReloadOnHangup(c.Context, source(c), logs)()
	err = errors.Join(a.Serve(c.Context), a.Close(c.Context))
	log.Info("stopped")
	return err
}

var daemonFlag = &cli.BoolFlag{
	Name:  "daemon",
	Usage: "keep the sessions in a process of their own, which outlives this client and is started when it is needed",
}

// authTokenFlag exists only to be refused: every user of the machine sees the arguments of a program.
var authTokenFlag = &cli.StringFlag{
	Name:  "auth-token",
	Usage: "refused: arguments are public; set server.http.tokens_file",
}

var errAuthTokenFlag = usageError{
	errors.New("--auth-token is refused, because everybody on this machine can see a program's arguments; " +
		"name a file in server.http.tokens_file, or set PTYCTL_SERVER_HTTP_AUTH_TOKEN or server.http.auth_token. " +
		"Take the token that was given here for known"),
}
