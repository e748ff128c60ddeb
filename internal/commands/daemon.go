package commands

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"ptyctl/internal/cli"

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
	placeFlag = "place" // for which it is started
)

func daemonCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "daemon",
		Usage: "keep the sessions of ptyctl mcp --daemon, which starts this when it is needed",
		Flags: append(configFlags(), &cli.IntFlag{Name: readyFlag, Hidden: true, Value: -1}, &cli.BoolFlag{Name: apartFlag, Hidden: true},
			&cli.StringFlag{Name: placeFlag, Hidden: true}),
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			if c.Bool(apartFlag) {
				again := slices.DeleteFunc(slices.Clone(os.Args[1:]), func(a string) bool { return a == "--"+apartFlag })
				return daemon.Again(again, config.Environ(), c.Int(readyFlag))
			}
			return runDaemon(c, p)
		},
		Subcommands: []*cli.Command{
			{
				Name: "status", Usage: "show the daemons that run, and their clients",
				Flags: []cli.Flag{configFlag(), &cli.BoolFlag{Name: "json", Usage: "print JSON: one array"}},
				Action: func(c *cli.Context) error {
					if err := noArguments(c); err != nil {
						return err
					}
					return daemonStatus(c)
				},
			},
			{
				Name: "stop", Usage: "end the daemons, with all their sessions",
				Flags: []cli.Flag{configFlag()},
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
				Flags: []cli.Flag{configFlag()},
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
func runDaemon(c *cli.Context, p Program) (err error) {
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
	if err := cmp.Or(p.servable(cfg), daemonTransport(cfg)); err != nil {
		return err
	}
	engine := app.Engine(cfg)
	if err := daemon.Fits(c.String(placeFlag), c.App.Version, engine); err != nil {
		return err
	}
	place, err := daemon.PlaceOf(engine)
	if err != nil {
		return err
	}
	where := cfg.Logging
	if started && where.File == "" {
		where.File = place.Log()
		defer place.HoldLog()()
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
	cluster, err := p.join(c.Context, cfg, logs.Logger, c.App.Version)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	a, err := app.New(cfg, app.Options{Version: c.App.Version, Logger: logs.Logger, Daemon: true, Cluster: cluster})
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

// eachDaemon asks every daemon that runs. It goes on after a failure. A configuration that is wrong is an error only if
// a daemon refuses, perhaps for lack of the token in it.
func eachDaemon(c *cli.Context, ask daemon.Ask, show func(io.Writer, net.Conn, daemon.Welcome) error) error {
	places, err := daemon.Daemons()
	if err != nil {
		return err
	}
	cfg, wrong := fileConfig(c)
	h := daemon.Hello{
		Ask: daemon.AskStatus, Build: c.App.Version, PID: os.Getpid(), Token: cfg.Server.Control.ControlAuthToken.Reveal(),
	}
	var errs []error
	asked := make(map[int]bool) // a daemon has one socket for each configuration that it has had
	for _, p := range places {
		conn, w, err := p.Ask(c.Context, h)
		if err != nil && daemon.Absent(err) {
			continue // it has ended without removing its socket
		}
		if err == nil && asked[w.PID] {
			_ = conn.Close()
			continue
		}
		asked[w.PID] = true
		if err == nil && ask != daemon.AskStatus {
			_ = conn.Close()
			do := h
			do.Ask = ask
			conn, w, err = p.Ask(c.Context, do)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.Socket(), err))
			continue
		}
		errs = append(errs, show(c.App.Writer, conn, w))
		_ = conn.Close()
	}
	for _, p := range daemon.OfOtherProtocols() {
		l, err := p.List(c.Context, h.Token)
		if err != nil && daemon.Absent(err) {
			continue
		}
		asked[l.PID] = true
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", p.Socket(), err))
		case ask == daemon.AskStatus:
			errs = append(errs, show(c.App.Writer, nil, welcomeOf(l, p)))
		default:
			errs = append(errs, fmt.Errorf("process %d is version %s, which this one cannot manage: use ptyctl of that version, "+
				"or send it SIGTERM to end it", l.PID, tty.Printable(l.Build)))
		}
	}
	if slices.ContainsFunc(errs, func(err error) bool { return err != nil }) {
		errs = append(errs, wrong)
	}
	if len(asked) == 0 && !c.Bool("json") {
		_, err := fmt.Fprintln(c.App.Writer, "no daemon runs")
		return err
	}
	return errors.Join(errs...)
}

// welcomeOf is the status of a daemon that speaks another protocol, as far as it is known.
func welcomeOf(l daemon.Listing, p daemon.Place) daemon.Welcome {
	return daemon.Welcome{
		Protocol: p.Protocol(), Build: l.Build, PID: l.PID, Started: l.Started, Sessions: len(l.Sessions),
	}
}

// A daemonEntry is a daemon in the output of daemon status --json.
type daemonEntry struct {
	PID           int           `json:"pid"`
	Build         string        `json:"build"`
	Protocol      int           `json:"protocol"`
	Started       time.Time     `json:"started"`
	Clients       int           `json:"clients"`
	Sessions      int           `json:"sessions"`
	Configuration string        `json:"configuration,omitempty"` // not of another protocol
	Shims         []daemon.Shim `json:"shims"`
}

func daemonStatus(c *cli.Context) error {
	if c.Bool("json") {
		all := []daemonEntry{}
		err := eachDaemon(c, daemon.AskStatus, func(_ io.Writer, _ net.Conn, w daemon.Welcome) error {
			e := daemonEntry{
				PID: w.PID, Build: w.Build, Protocol: w.Protocol, Started: w.Started, Clients: w.Clients, Sessions: w.Sessions,
				Shims: append([]daemon.Shim{}, w.Shims...),
			}
			if w.Protocol == daemon.Protocol {
				e.Configuration = w.Engine.Name()
			}
			all = append(all, e)
			return nil
		})
		return errors.Join(err, printJSON(c.App.Writer, all))
	}
	rows := [][]string{{"PROCESS", "BUILD", "STARTED", "CLIENTS", "SESSIONS", "CONFIGURATION"}}
	shims := [][]string{{"CLIENT", "PROGRAM", "FOLDER", "PROCESS", "SINCE", "SESSIONS", "DAEMON"}}
	err := eachDaemon(c, daemon.AskStatus, func(_ io.Writer, _ net.Conn, w daemon.Welcome) error {
		clients, configuration := strconv.Itoa(w.Clients), w.Engine.Name()
		if w.Protocol != daemon.Protocol {
			clients, configuration = "-", fmt.Sprintf("(of protocol %d)", w.Protocol)
		}
		rows = append(rows, []string{
			strconv.Itoa(w.PID), tty.Printable(w.Build), ago(time.Now(), w.Started.UnixMilli()),
			clients, strconv.Itoa(w.Sessions), configuration,
		})
		for _, s := range w.Shims {
			columns := []string{
				s.Name, s.Program, s.Folder, strconv.Itoa(s.PID), ago(time.Now(), s.Since.UnixMilli()), strconv.Itoa(s.Sessions),
				strconv.Itoa(w.PID),
			}
			for i := range columns {
				if columns[i] = tty.Printable(columns[i]); columns[i] == "" {
					columns[i] = "-"
				}
			}
			shims = append(shims, columns)
		}
		return nil
	})
	var b strings.Builder
	if len(rows) > 1 {
		tty.Table(&b, rows, tty.TableWidth)
	}
	if len(shims) > 1 {
		b.WriteByte('\n')
		tty.Table(&b, shims, tty.TableWidth)
	}
	_, bad := io.WriteString(c.App.Writer, b.String())
	return errors.Join(err, bad)
}

// showReload lists the keys that a reload has changed, and those that it could not.
func showReload(w io.Writer, _ net.Conn, a daemon.Welcome) error {
	r := a.Reloaded
	var b strings.Builder
	switch {
	case r.Failed != "":
		return fmt.Errorf("process %d has changed nothing: %s", a.PID, tty.Plain(r.Failed))
	case len(r.Applied)+len(r.Later)+len(r.Wrong) == 0:
		fmt.Fprintf(&b, "process %d: nothing has changed\n", a.PID)
	}
	for _, list := range []struct {
		keys []string
		what string
	}{
		{r.Applied, "changed"}, {r.Later, "counts only in a new daemon (ptyctl daemon stop)"},
		{r.Wrong, "[groups] stays as it was"},
	} {
		for _, key := range slices.Sorted(slices.Values(list.keys)) {
			fmt.Fprintf(&b, "process %d: %s: %s\n", a.PID, list.what, tty.Printable(key))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
