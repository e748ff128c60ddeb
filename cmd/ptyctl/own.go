package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/urfave/cli/v2"

	"ptyctl/audit"
	"ptyctl/config"
	"ptyctl/control"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/toolset/aiterm"
	"ptyctl/session"
)

// An ownEngine is a ptyctl within this process: open and exec reach hosts through what an agent has, tools and all.
type ownEngine struct {
	cfg      config.Config
	sessions *session.Manager
	trail    *audit.Log
	log      *slog.Logger
	closeLog func()
}

// newOwnEngine makes the engine that the configuration describes. Its log goes to the configured file or, as it is a
// person's terminal that stderr shows, nowhere.
func newOwnEngine(c *cli.Context) (e *ownEngine, err error) {
	e = &ownEngine{log: slog.New(slog.DiscardHandler), closeLog: func() {}}
	if e.cfg, _, err = config.Load(config.Source{Path: c.String("config")}); err != nil {
		return nil, usageError{fmt.Errorf("the configuration is wrong:\n%w", err)}
	}
	e.cfg.Server.Control.ControlSocketPath = "" // it has none
	e.cfg.Server.Toolsets = nil                 // what agents are offered
	e.cfg.Limits.MaxExecOutputBytes = max(e.cfg.Limits.MaxExecOutputBytes, ownOutput)
	if e.cfg.Logging.File != "" {
		logs, err := newLogger(e.cfg.Logging)
		if err != nil {
			return nil, err
		}
		e.log, e.closeLog = logs.Logger, logs.close
	}
	gate, err := newGate(e.cfg, e.log)
	if err != nil {
		e.closeLog()
		return nil, err
	}
	e.trail, err = newAudit(e.cfg.Audit, e.log)
	if err != nil {
		e.closeLog()
		return nil, err
	}
	ways, err := newWays(e.cfg, e.log)
	if err != nil {
		e.closeLog()
		return nil, errors.Join(err, e.trail.Close())
	}
	e.sessions, _ = newManager(e.cfg, gate, ways, nil, e.trail, nil, aiterm.New(), e.log) // nobody asks it for files
	return e, nil
}

// client returns a client of the engine's tools. No call of it waits longer than limits.max_wait_ms of cfg.
func (e *ownEngine) client(ctx context.Context, cfg config.Config) (*control.Client, error) {
	return control.Within(
		ctx,
		newServer(cfg, e.sessions, nil, nil, aiterm.New(), e.log),
		control.Options{Version: version()},
	)
}

func (e *ownEngine) close(ctx context.Context) error {
	e.sessions.Close(context.WithoutCancel(ctx))
	err := e.trail.Close()
	e.closeLog()
	return err
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
