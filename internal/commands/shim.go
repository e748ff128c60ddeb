package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ptyctl/internal/cli"

	"ptyctl/config"
	"ptyctl/daemon"
	"ptyctl/internal/app"
	"ptyctl/internal/logging"
	"ptyctl/ptyx"
	"ptyctl/sshx/sshconfig"
	"ptyctl/term"
)

// runShim carries the conversation of this client to the daemon. It starts a daemon if none runs.
func runShim(c *cli.Context, cfg config.Config, log *logging.Logger) error {
	conn, w, err := joinDaemon(c, cfg, log)
	for tries := 1; err != nil; tries++ {
		other, ok := errors.AsType[*daemon.OtherError](err)
		if !ok {
			return err
		}
		before := app.Engine(cfg)
		if cfg, err = readAgain(c, cfg, other, tries); err != nil {
			return err
		}
		log.Warn("the configuration has changed while the daemon started: the present one counts", "difference",
			app.Engine(cfg).Difference(before))
		conn, w, err = joinDaemon(c, cfg, log)
	}
	log.Info("the daemon serves this client", "daemon", w.PID, "build", w.Build, "client", w.Client)
	in, restore := app.Stdin()
	defer restore()
	err = daemon.Relay{
		Conn: conn, In: in, Out: os.Stdout, MaxLine: cfg.Limits.MaxMessageBytes, Presents: app.Presents(cfg),
		Logger: log.Logger,
	}.Run(c.Context)
	log.Info("stopped")
	return err
}

// startTries is how often a client reads a configuration again that changes while the daemon starts.
const startTries = 3

// readAgain reads the configuration again because the daemon has read another. The error says what differs if this
// client reads the same as before.
func readAgain(c *cli.Context, before config.Config, other *daemon.OtherError, tries int) (config.Config, error) {
	if other.Protocol != daemon.Protocol {
		return before, fmt.Errorf("the program was replaced by version %s while it started the daemon; start again", other.Build)
	}
	cfg, _, err := loadConfig(c)
	if err != nil {
		return cfg, err
	}
	engine := app.Engine(cfg)
	difference := app.Engine(before).Difference(other.Engine)
	switch {
	case engine.Name() == app.Engine(before).Name():
		return cfg, fmt.Errorf("the daemon, which was started by this client, reads another configuration (in the root folder, "+
			"and with few variables): %s; set these keys in a file, with absolute paths", difference)
	case tries > startTries:
		return cfg, fmt.Errorf("the configuration has changed %d times while the daemon started: %s; start again when it stays "+
			"as it is", tries, difference)
	}
	return cfg, daemonTransport(cfg)
}

// joinDaemon connects this client to the daemon of a configuration.
func joinDaemon(c *cli.Context, cfg config.Config, log *logging.Logger) (conn net.Conn, w daemon.Welcome, err error) {
	if err := daemonTransport(cfg); err != nil {
		return nil, w, err
	}
	engine := app.Engine(cfg)
	place, err := daemon.PlaceOf(engine)
	if err != nil {
		return nil, w, err
	}
	dir, err := os.Getwd()
	if err != nil {
		log.Warn("the working folder is not known: programs begin in the daemon's", "error", err)
	}
	h := daemon.Hello{
		Build: c.App.Version, PID: os.Getpid(), Engine: engine.Name(), Presents: app.Presents(cfg),
	}
	h.SetClient(dir, callersEnvironment(c.Context, cfg))
	program, err := os.Executable()
	if err != nil {
		return nil, w, fmt.Errorf("the program of the daemon is not known: %w", err)
	}
	start := daemon.StartProgram(program, func(p daemon.Place) []string {
		return slices.Concat([]string{"daemon", "--" + apartFlag, "--" + placeFlag + "=" + p.Name()}, configArguments(c),
			[]string{"--" + readyFlag})
	}, daemonEnvironment(config.Environ()))
	return place.Join(c.Context, h, func(ctx context.Context, p daemon.Place) error {
		if _, err := app.NewPolicy(cfg); err != nil { // the daemon's failure would not tell that the configuration is wrong
			return err
		}
		if err := compareDaemons(ctx, c.App.Version, cfg.Daemon.OnDifference, engine, p, log); err != nil {
			return err
		}
		log.Info("no daemon with this configuration runs: one is started", "socket", p.Socket())
		for _, other := range p.Kin() {
			l, err := other.List(ctx, cfg.Server.Control.ControlAuthToken.Reveal())
			switch {
			case err == nil:
				log.Warn("the daemon of another version goes on until its sessions have ended: this client gets a new one, "+
					"which lists them, and cannot use them", "process", l.PID, "build", l.Build, "sessions", len(l.Sessions))
			case !daemon.Absent(err):
				log.Warn("the daemon of another version does not say which sessions it has", "socket", other.Socket(), "error", err)
			}
		}
		if why := daemon.Bound(); why != "" {
			log.Warn("the daemon may end with this client: start ptyctl daemon elsewhere", "reason", why)
		}
		return start(ctx, p)
	})
}

// compareDaemons looks at the daemons of other configurations before one more is started. It refuses that if the
// operator wants it refused.
func compareDaemons(
	ctx context.Context, version string, on config.OnDifference, engine daemon.Engine, place daemon.Place, log *logging.Logger,
) error {
	for other, w := range place.Other(ctx, version) {
		difference := cmp.Or(engine.Difference(w.Engine), "its socket has the name of another configuration")
		if on == config.DifferenceRefuse {
			return usageError{fmt.Errorf("a daemon with another configuration runs (process %d): %s; "+
				"use the same configuration, stop that one (ptyctl daemon stop), or set daemon.on_difference to \"start\"",
				w.PID, difference)}
		}
		log.Warn("a daemon with another configuration runs: this client gets one of its own",
			"process", w.PID, "difference", difference)
		note := daemon.Hello{Ask: daemon.AskNote, Build: version, PID: os.Getpid()}
		note.Note = "its configuration is another, so it gets a daemon of its own: " + difference
		if conn, _, err := other.Ask(ctx, note); err == nil {
			_ = conn.Close()
		}
	}
	return nil
}

// configArguments are the flags that decide about the configuration of the engine, as they were given to this process.
func configArguments(c *cli.Context) []string {
	var args []string
	from := source(c)
	if from.Path != "" {
		args = append(args, "--config", absolute(from.Path))
	}
	for _, k := range config.Keys() {
		text, given := from.Flags[k.Path]
		switch {
		case !given || k.Flag.Name == "":
		case k.Flag.Value != "":
			args = append(args, "--"+k.Flag.Name)
		default:
			args = append(args, "--"+k.Flag.Name+"="+text)
		}
	}
	return args
}

// absolute returns a path that means the same in another folder.
func absolute(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	dir, err := os.Getwd()
	if err != nil {
		return name
	}
	return filepath.Join(dir, name)
}

// daemonEnvironment returns the daemon's own variables: those of its configuration, and those that its runtime reads. No
// program of a session gets them.
func daemonEnvironment(own []string) []string {
	names := []string{
		"HOME", "USER", "LOGNAME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "PTYCTL_*", "TMPDIR", "TZ",
		"GOMEMLIMIT", "GOGC", "GODEBUG", "GORACE", "GOCOVERDIR",
		"SYSTEMROOT", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "TEMP", "TMP", "USERPROFILE", // of Windows
	}
	for _, k := range config.Keys() { // some have names that users of other servers know
		names = append(names, k.Env)
	}
	return someOf(own, names...)
}

// callersEnvironment returns the variables of this client for its opens and programs.
func callersEnvironment(ctx context.Context, cfg config.Config) []string {
	names := []string{
		"SSH_AUTH_SOCK", "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "DISPLAY", "TMPDIR",
		"XDG_RUNTIME_DIR", "XDG_CONFIG_HOME",
	}
	names = slices.Concat(names, ptyx.SystemVariables(), cfg.Local.InheritEnv)
	if cfg.SSH.UseOpenSSHConfig {
		o := sshconfig.Options{}
		if cfg.SSH.ConfigPath != "" {
			o.UserFile, o.SystemFile = cfg.SSH.ConfigPath, "none" // as with ssh -F
		}
		referred, _ := sshconfig.Variables(ctx, o) // a faulty file is reported by the open that needs it
		names = append(names, referred...)
	}
	return someOf(os.Environ(), names...)
}

// someOf returns the variables with names that match a pattern.
func someOf(env []string, patterns ...string) []string {
	var some []string
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		if slices.ContainsFunc(patterns, func(p string) bool {
			ok, err := path.Match(term.VariableName(p), term.VariableName(name))
			return err == nil && ok
		}) {
			some = append(some, e)
		}
	}
	return some
}
