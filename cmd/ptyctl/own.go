package main

import (
	"context"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"ptyctl/config"
	"ptyctl/control"
	"ptyctl/internal/app"
	"ptyctl/internal/logging"
	"ptyctl/mcpapi"
)

// newApp makes a ptyctl within this process: open and exec reach hosts with the tools that an agent has. Its log goes
// to the configured file, never to stderr, where the person sees the session. The caller closes it with closeAll.
func newApp(c *cli.Context) (a *app.App, closeAll func() error, err error) {
	cfg, _, err := config.Load(config.Source{Path: c.String("config")})
	if err != nil {
		return nil, nil, usageError{fmt.Errorf("the configuration is wrong:\n%w", err)}
	}
	o, closeLog := app.Options{Version: version()}, func() {}
	if cfg.Logging.File != "" {
		logs, err := logging.New(cfg.Logging)
		if err != nil {
			return nil, nil, err
		}
		o.Logger, closeLog = logs.Logger, logs.Close
	}
	a, err = app.ForCommand(cfg, o)
	if err != nil {
		closeLog()
		return nil, nil, err
	}
	return a, func() error {
		err := a.Close(c.Context)
		closeLog()
		return err
	}, nil
}

// hostFlags say how to reach a host.
func hostFlags() []cli.Flag {
	return []cli.Flag{
		configFlag(),
		&cli.StringFlag{Name: "protocol", Value: "ssh", Usage: "ssh or telnet"},
		&cli.IntFlag{Name: "p", Aliases: []string{"port"}, Usage: "the host's `PORT`"},
		&cli.StringFlag{Name: "J", Usage: "jump hosts, as ssh -J"},
		&cli.StringFlag{Name: "host-key", Usage: "the host key `POLICY`: strict, ask, accept_new; default as configured"},
		&cli.StringFlag{Name: "profile", Usage: "the device family, as expect.profile"},
	}
}

type openCall struct {
	Action   string   `json:"action"`
	Protocol string   `json:"protocol"`
	Host     string   `json:"host"`
	Port     int      `json:"port,omitempty"`
	Username string   `json:"username,omitempty"`
	PTY      *openPTY `json:"pty,omitempty"`
	SSH      *openSSH `json:"ssh_options,omitempty"`
	Expect   *expects `json:"expect,omitempty"`
}

type openPTY struct {
	Cols int    `json:"cols,omitempty"`
	Rows int    `json:"rows,omitempty"`
	Term string `json:"term,omitempty"`
}

type openSSH struct {
	HostKeyPolicy string `json:"host_key_policy,omitempty"`
	ProxyJump     string `json:"proxy_jump,omitempty"`
}

type expects struct {
	Profile string `json:"profile,omitempty"`
}

// openHost opens a session on USER@HOST:PORT as the flags say, and has the person answer what the login asks.
func openHost(c *cli.Context, on *control.Client, where string, pty *openPTY) (*seat, error) {
	to, err := destination(c, where)
	if err != nil {
		return nil, err
	}
	call := openCall{
		Action:   "open",
		Protocol: c.String("protocol"),
		Host:     to.Host,
		Port:     to.Port,
		Username: to.User,
		PTY:      pty,
	}
	if o := (openSSH{c.String("host-key"), c.String("J")}); o != (openSSH{}) {
		call.SSH = &o
	}
	if p := c.String("profile"); p != "" {
		call.Expect = &expects{p}
	}
	var out struct {
		SessionID string   `json:"session_id"`
		Warning   string   `json:"security_warning"`
		Warnings  []string `json:"warnings"`
	}
	if err := on.Call(c.Context, toolSession, call, &out); err != nil {
		return nil, err
	}
	for _, w := range append(out.Warnings, out.Warning) {
		if w != "" {
			fmt.Fprintf(os.Stderr, "ptyctl: %s\n", printable(w))
		}
	}
	s := &seat{on: on, id: out.SessionID}
	return s, login(c.Context, s, personAt(c))
}

// asPerson marks the calls of a command, for the record.
func asPerson(ctx context.Context) context.Context {
	return mcpapi.WithCaller(ctx, mcpapi.Caller{Transport: "cli", Operator: true})
}
