package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"ptyctl/audit"
	"ptyctl/config"
	"ptyctl/consent"
	"ptyctl/control"
	"ptyctl/daemon"
	"ptyctl/fleet"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/elicit"
	"ptyctl/mcpapi/jsonrpc"
	"ptyctl/mcpapi/lending"
	"ptyctl/mcpapi/questions"
	"ptyctl/mcpapi/subscribe"
	"ptyctl/metrics"
	"ptyctl/notify"
	"ptyctl/session"
	"ptyctl/session/known"
	"ptyctl/term"
	"ptyctl/watch/feed"
)

// Options are the parts of an App that the configuration does not decide.
type Options struct {
	Version string       // of the program, for clients and the audit log
	Logger  *slog.Logger // nil: nothing is logged
	Daemon  bool         // it serves the clients of a daemon, each with tools of its own choice
	Cluster Cluster      // closed by the App; nil: this machine is alone

	Toolsets []string // of ForCommand; empty: those of a server by default
}

// A ConfigError is a configuration that cannot be used although each of its values is valid.
type ConfigError struct{ Err error }

func (e *ConfigError) Error() string { return e.Err.Error() }

func (e *ConfigError) Unwrap() error { return e.Err }

// The engines reach hosts, of one machine or of a node of several.
type engines struct {
	sessions *session.Manager
	fleets   *fleet.Fleets // commands on many hosts
	cluster  *membership   // nil: this machine is alone
	lendings lending.Table // files of sessions, to copies of other nodes
}

// An App is one ptyctl. Its zero value is not usable.
type App struct {
	cfg     config.Config // in force: with the path of the control socket that was made, and with limits that fit
	loaded  config.Config // as it was read, to compare with when it is read again
	version string
	log     *slog.Logger

	messages *jsonrpc.Room // for the requests in flight of all transports; nil: no limit
	engines
	metrics *metrics.Metrics
	audit   *audit.Log // nil if no audit log is configured
	record  *recorder  // nil if no recordings are configured
	rules   rules
	dialers *dialers
	sets    stateful

	// The following are the zero value in an App for a command.
	files     term.Files // of this machine; nil: none are offered
	watch     *subscribe.Watch
	feed      *feed.Feed // for people who watch; nil: there is neither a control socket nor a page
	pages     *elicit.Pages
	consents  *consent.Book
	questions *questions.Board
	notices   *notify.Notifier // nil: no notifications
	server    *mcpapi.Server
	http      *httpPort
	control   *controlSocket
	stirred   stirred                      // nil: this process is not a daemon
	place     atomic.Pointer[daemon.Place] // the daemon's; nil: this process is not a daemon

	closers []func() // called by Close, the last one first
}

// New makes an App that Serve can serve.
func New(cfg config.Config, o Options) (*App, error) {
	a := begin(cfg, o)
	if err := a.assemble(true); err != nil {
		return nil, errors.Join(err, a.Close(context.Background()))
	}
	return a, nil
}

// commandOutput limits how far, in bytes, a command's output may be ahead of its reader in an App for a command. An
// agent reads the parts that it needs and learns how much it has missed; a person wants all of it.
const commandOutput = 128 << 20

// ForCommand makes an App for one command of a person, who calls the core tools through Client. It has no port and no
// control socket, and files only where the Toolsets of o name those for them: all that the person's account may reach.
func ForCommand(cfg config.Config, o Options) (*App, error) {
	cfg.Server.Control.ControlSocketPath = ""
	cfg.Server.Toolsets = o.Toolsets
	a := begin(cfg, o)
	output := min(commandOutput, a.cfg.Limits.MaxTotalBufferBytes)
	a.cfg.Limits.MaxExecOutputBytes = max(a.cfg.Limits.MaxExecOutputBytes, output)
	err := a.offerOwnFiles(o.Toolsets)
	if err == nil {
		err = a.assemble(false)
	}
	if err != nil {
		return nil, errors.Join(err, a.Close(context.Background()))
	}
	return a, nil
}

// daemonMessages bounds the large requests in flight of all clients of a daemon, in bytes.
const daemonMessages = 256 << 20

func begin(cfg config.Config, o Options) *App {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	hidden := known.NewRegistry()
	log := slog.New(hidden.LogHandler(o.Logger.Handler()))
	a := &App{cfg: cfg, loaded: cfg, version: o.Version, log: log, dialers: &dialers{known: hidden}, sets: newStateful()}
	a.closers = append(a.closers, hidden.Close) // last: until then something may be logged
	if o.Daemon {
		a.stirred = make(stirred, 1)
	}
	a.cluster = joined(o.Cluster, log)
	most := FitMemory(&a.cfg)
	switch {
	case most > 0:
		a.messages = jsonrpc.NewRoom(most / messagePart)
	case o.Daemon: // its clients are many, and each may send as much as one of a ptyctl of its own
		a.messages = jsonrpc.NewRoom(daemonMessages)
		a.messages.Whose = "the daemon"
	}
	if a.cfg.Limits != cfg.Limits {
		a.log.Info("the memory limit of the control group lowers limits of the configuration", "bytes", most,
			"max_total_buffer_bytes", a.cfg.Limits.MaxTotalBufferBytes)
	}
	return a
}

// assemble makes the parts, in the order in which they need each other.
func (a *App) assemble(serves bool) error {
	set, err := newRules(a.cfg, a.log)
	if err != nil {
		return err
	}
	a.rules.current.Store(set)
	if serves {
		if err := a.offerMachine(); err != nil {
			return err
		}
	}
	if a.audit, err = openAudit(a.cfg.Audit, a.cluster.name(), a.version, a.log); err != nil {
		return err
	}
	a.dialers.secrets = a.secretOptions()
	if err = a.dialers.replace(a.cfg, a.log); err != nil {
		return err
	}
	if a.record, err = a.openRecordings(a.cfg); err != nil {
		return err
	}
	gate := term.Gate(a.rules.judge)
	if serves {
		var end func()
		gate, end = keepThreads(gate)
		a.closers = append(a.closers, end)
	}
	a.sessions, a.metrics = a.newManager(gate)
	if a.questions != nil {
		a.questions.Serve(a.sessions)
	}
	if !serves {
		return nil
	}
	a.server = a.newServer(a.cfg)
	a.http, err = a.listenHTTP(a.metrics.Handler())
	return err
}

// offerMachine makes the parts that only a server has: the control socket, the files and programs of this machine,
// resource updates and web forms.
func (a *App) offerMachine() (err error) {
	if a.control, err = listenControl(&a.cfg, a.log); err != nil {
		return err
	}
	a.closers = append(a.closers, a.control.close)
	if a.control != nil || servesPage(a.cfg) {
		a.feed = newFeed(a.cfg, a.version)
	}
	if err := localSandbox(a.cfg.Local).Check(); err != nil {
		return fmt.Errorf("%w (local.read_paths, local.write_paths)", err)
	}
	a.closers = append(a.closers, superviseLocal(a.cfg.Local, a.log))
	a.watch, a.pages = subscribe.NewWatch(), elicit.NewPages()
	a.closers = append(a.closers, a.watch.Close, a.pages.Close)
	a.offerQuestions()
	if a.notices, err = a.openNotices(a.cfg.Notify); err != nil {
		return err
	}
	if a.files, err = localFiles(a.cfg.FS); err != nil {
		return err
	}
	a.closers = append(a.closers, func() { closeFiles(a.files) })
	return nil
}

// Client returns a client of the tools, in this process. No call of it waits longer than maxWait; 0 is the configured
// limit.
func (a *App) Client(ctx context.Context, maxWait time.Duration) (*control.Client, error) {
	cfg := a.cfg
	cfg.Server.Results = config.ResultsFull
	if maxWait > 0 {
		cfg.Limits.MaxWait = min(maxWait, cfg.Limits.MaxWait)
	}
	return control.Within(ctx, a.newServer(cfg).Protocol().MCPServer, control.Options{Version: a.version})
}

// Config returns the configuration in force.
func (a *App) Config() config.Config { return a.cfg }

// Close ends the sessions, and then all else. It has its own time limit: that ctx has ended, for example by the signal
// that stops the program, does not cut it short.
func (a *App) Close(ctx context.Context) error {
	if a.fleets != nil {
		a.fleets.Close()
	}
	if a.sessions != nil {
		a.sessions.Close(context.WithoutCancel(ctx))
	}
	a.lendings.Close()
	if a.consents != nil {
		a.consents.Close() // before the audit log, which has the ends of questions
	}
	a.record.close() // the audit log has the ends of recordings, too
	err := a.audit.Close()
	err = errors.Join(a.cluster.leave(ctx), err) // the cluster keeps the end of the audit log
	for len(a.closers) > 0 {
		last := len(a.closers) - 1
		a.closers[last]()
		a.closers = a.closers[:last]
	}
	return err
}
