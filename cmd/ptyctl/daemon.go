package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"ptyctl/config"
	"ptyctl/daemon"
	"ptyctl/internal/app"
	"ptyctl/internal/logging"
	"ptyctl/internal/tty"
)

// Flags for the shim that starts the daemon: with apartFlag the program starts itself again and ends, so that the
// daemon is no descendant of the client's host.
const (
	readyFlag = "ready-fd"
	apartFlag = "apart"
)

func daemonCommand() *cli.Command {
	return &cli.Command{
		Name:  "daemon",
		Usage: "keep the sessions of ptyctl mcp --daemon, which starts this when it is needed",
		Flags: append(configFlags(), &cli.IntFlag{Name: readyFlag, Hidden: true, Value: -1}, &cli.BoolFlag{Name: apartFlag, Hidden: true}),
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			if c.Bool(apartFlag) {
				again := slices.DeleteFunc(slices.Clone(os.Args[1:]), func(a string) bool { return a == "--"+apartFlag })
				return daemon.Again(again, config.Environ(), c.Int(readyFlag))
			}
			return runDaemon(c)
		},
		Subcommands: []*cli.Command{
			{
				Name: "status", Usage: "show the daemons that run",
				Flags: []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print JSON: one array"}},
				Action: func(c *cli.Context) error {
					if err := noArguments(c); err != nil {
						return err
					}
					return daemonStatus(c)
				},
			},
			{
				Name: "stop", Usage: "end the daemons, with all their sessions",
				Action: func(c *cli.Context) error {
					if err := noArguments(c); err != nil {
						return err
					}
					return eachDaemon(c, daemon.AskStop, func(w io.Writer, conn net.Conn, a daemon.Welcome) error {
						if err := daemon.AwaitEnd(c.Context, conn); err != nil {
							return fmt.Errorf("process %d was asked to end, and may not have ended yet: %w", a.PID, err)
						}
						_, err := fmt.Fprintf(w, "process %d has ended\n", a.PID)
						return err
					})
				},
			},
			{
				Name: "reload", Usage: "have the daemons read their configuration again",
				Action: func(c *cli.Context) error {
					if err := noArguments(c); err != nil {
						return err
					}
					return eachDaemon(c, daemon.AskReload, showReload)
				},
			},
			{
				Name: "socket", Usage: "print the path of the socket of this configuration, for a service manager",
				Flags: configFlags(),
				Action: func(c *cli.Context) error {
					if err := noArguments(c); err != nil {
						return err
					}
					cfg, _, err := loadConfig(c)
					if err != nil {
						return err
					}
					place, err := daemon.PlaceOf(app.Engine(cfg))
					if err != nil {
						return err
					}
					_, err = fmt.Fprintln(c.App.Writer, place.Socket())
					return err
				},
			},
		},
	}
}

// runDaemon is the process that keeps the sessions. The shim that has started it waits until it is ready.
func runDaemon(c *cli.Context) (err error) {
	ready := new(daemon.Readiness)
	started := c.Int(readyFlag) >= 0
	if started {
		ready = daemon.ReadinessAt(c.Int(readyFlag))
		defer func() { ready.Tell(err) }() // a failure before it was ready
	}
	cfg, warnings, err := loadConfig(c)
	if err != nil {
		return err
	}
	if err := daemonTransport(cfg); err != nil {
		return err
	}
	place, err := daemon.PlaceOf(app.Engine(cfg))
	if err != nil {
		return err
	}
	where := cfg.Logging
	if started && where.File == "" {
		where.File = place.Log()
	}
	logs, err := logging.New(where)
	if err != nil {
		return err
	}
	defer logs.Close()
	logConfig(logs, warnings)
	l, err := daemon.Activated(logs.Logger)
	if err == nil && l == nil {
		l, err = daemon.Listen(place, logs.Logger)
	}
	if errors.Is(err, daemon.ErrRuns) && started { // another shim was faster: its daemon serves this one too
		return nil
	}
	if err != nil {
		return err
	}
	a, err := app.New(cfg, app.Options{Version: version(), Logger: logs.Logger, Daemon: true})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	reload := a.Reloader(source(c), logs)
	reload.LogFile = where.File
	defer reload.OnHangup(c.Context)()
	ready.Tell(nil)
	err = errors.Join(a.ServeDaemon(c.Context, l, reload), a.Close(c.Context))
	logs.Info("stopped")
	return err
}

// daemonTransport refuses transports other than stdio.
func daemonTransport(cfg config.Config) error {
	if cfg.Server.Transport != config.TransportStdio {
		return usageError{fmt.Errorf("the daemon serves clients on stdio, and server.transport is %q; leave it out, "+
			"or run ptyctl mcp without --daemon", cfg.Server.Transport)}
	}
	return nil
}

// logConfig logs the warnings of a server's start.
func logConfig(log *logging.Logger, warnings []config.Warning) {
	for _, w := range warnings {
		log.Warn("configuration", "where", w.Where, "warning", w.Message)
	}
	if unprotected != nil {
		log.Warn(
			"other programs of this user may read secrets of this process: its protection has failed; see ptyctl doctor",
			"err", unprotected.Error(),
		)
	}
}

// eachDaemon asks every daemon that runs. It goes on after a failure.
func eachDaemon(c *cli.Context, ask daemon.Ask, show func(io.Writer, net.Conn, daemon.Welcome) error) error {
	places, err := daemon.Daemons()
	if err != nil {
		return err
	}
	var errs []error
	asked := make(map[int]bool) // a daemon has one socket for each configuration that it has had
	for _, p := range places {
		conn, w, err := p.Ask(c.Context, daemon.Hello{Ask: daemon.AskStatus, Build: version(), PID: os.Getpid()})
		if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) {
			continue // it has ended without removing its socket
		}
		if err == nil && asked[w.PID] {
			_ = conn.Close()
			continue
		}
		asked[w.PID] = true
		if err == nil && ask != daemon.AskStatus {
			_ = conn.Close()
			conn, w, err = p.Ask(c.Context, daemon.Hello{Ask: ask, Build: version(), PID: os.Getpid()})
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.Socket(), err))
			continue
		}
		errs = append(errs, show(c.App.Writer, conn, w))
		_ = conn.Close()
	}
	if len(asked) == 0 && !c.Bool("json") {
		_, err := fmt.Fprintln(c.App.Writer, "no daemon runs")
		return err
	}
	return errors.Join(errs...)
}

// A daemonEntry is a daemon in the output of daemon status --json.
type daemonEntry struct {
	PID           int       `json:"pid"`
	Build         string    `json:"build"`
	Started       time.Time `json:"started"`
	Clients       int       `json:"clients"`
	Sessions      int       `json:"sessions"`
	Configuration string    `json:"configuration"`
}

func daemonStatus(c *cli.Context) error {
	if c.Bool("json") {
		all := []daemonEntry{}
		err := eachDaemon(c, daemon.AskStatus, func(_ io.Writer, _ net.Conn, w daemon.Welcome) error {
			all = append(all, daemonEntry{w.PID, w.Build, w.Started, w.Clients, w.Sessions, w.Engine.Name()})
			return nil
		})
		return errors.Join(err, printJSON(c.App.Writer, all))
	}
	rows := [][]string{{"PROCESS", "BUILD", "STARTED", "CLIENTS", "SESSIONS", "CONFIGURATION"}}
	err := eachDaemon(c, daemon.AskStatus, func(_ io.Writer, _ net.Conn, w daemon.Welcome) error {
		rows = append(rows, []string{
			strconv.Itoa(w.PID), tty.Printable(w.Build), ago(time.Now(), w.Started.UnixMilli()),
			strconv.Itoa(w.Clients), strconv.Itoa(w.Sessions), w.Engine.Name(),
		})
		return nil
	})
	if len(rows) > 1 {
		var b strings.Builder
		tty.Table(&b, rows, tty.TableWidth)
		_, bad := io.WriteString(c.App.Writer, b.String())
		err = errors.Join(err, bad)
	}
	return err
}

// showReload lists the keys that a reload has changed, and those that it could not.
func showReload(w io.Writer, _ net.Conn, a daemon.Welcome) error {
	r := a.Reloaded
	var b strings.Builder
	switch {
	case r.Failed != "":
		return fmt.Errorf("process %d has changed nothing: %s", a.PID, tty.Plain(r.Failed))
	case len(r.Applied)+len(r.Later) == 0:
		fmt.Fprintf(&b, "process %d: nothing has changed\n", a.PID)
	}
	for _, list := range []struct {
		keys []string
		what string
	}{{r.Applied, "changed"}, {r.Later, "counts only in a new daemon (ptyctl daemon stop)"}} {
		for _, key := range slices.Sorted(slices.Values(list.keys)) {
			fmt.Fprintf(&b, "process %d: %s: %s\n", a.PID, list.what, tty.Printable(key))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
