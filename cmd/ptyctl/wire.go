package main

import (
	"log/slog"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"ptyctl/audit"
	"ptyctl/config"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/toolset/aiterm"
	"ptyctl/mcpapi/toolset/kpty"
	"ptyctl/mcpapi/toolset/pty"
	"ptyctl/metrics"
	"ptyctl/session"
	"ptyctl/sshx"
	"ptyctl/term"
)

// newManager makes the set of sessions that the configuration describes, and what counts their doings.
func newManager(
	cfg config.Config,
	gate term.Gate,
	ways *ways,
	here term.Files,
	trail *audit.Log,
	watch *mcpapi.Watch,
	ai *aiterm.Set,
	log *slog.Logger,
) (*session.Manager, *metrics.Metrics) {
	var sessions *session.Manager
	numbers := metrics.New(metrics.Options{
		Protocols: []string{"ssh", "telnet", "local"}, HandshakesWaiting: ways.handshakesWaiting,
		Sessions: func() []metrics.Session { return liveSessions(sessions) }, AuditLost: linesLost(trail),
	})
	var journal term.Journal
	observers := []term.Observer{numbers}
	if watch != nil {
		observers = append(observers, watch)
	}
	if slices.Contains(cfg.Server.Toolsets, ai.Name()) {
		observers = append(observers, ai)
	}
	if trail != nil {
		observers = append(observers, trail)
		if cfg.Audit.FailClosed {
			journal = trail.Journal
		}
	}
	budget := newMemoryBudget()
	if budget != nil {
		observers = append(observers, budget)
	}
	dialers := ways.dialers()
	dialers["local"] = localHost(cfg.Local).Open
	sessions = session.NewManager(session.Config{
		Dialers:        dialers,
		MaxSessions:    cfg.Session.MaxSessions,
		MaxBufferBytes: cfg.Limits.MaxTotalBufferBytes,
		MaxReads:       cfg.Limits.MaxWaitingReads,
		BufferBytes:    cfg.Session.OutputBufferMaxBytes,
		BufferLines:    cfg.Session.OutputBufferMaxLines,
		ExecBytes:      cfg.Limits.MaxExecOutputBytes,
		WriteTimeout:   cfg.Session.WriteTimeout,
		PromptTimeout:  cfg.Auth.PromptTimeout,
		ConnectTimeout: cfg.Session.ConnectTimeout,
		IdleTimeout:    cfg.Session.IdleTimeout,
		MaxAge:         cfg.Session.MaxAge,
		Retention:      max(cfg.Session.ClosedRetention, 1), // 0 is a default there, and here "at once"
		AllowTakeOver:  cfg.Locks.AllowTakeOver,
		RecordTxEvents: cfg.Session.RecordTxEvents,
		Devices:        deviceLocks(cfg.Locks.DeviceDir, cfg.Server.Control.ControlSocketPath),
		Gate:           gate,
		Journal:        journal,
		Files:          here,
		FarFiles:       farFiles(cfg.FS),
		Observers:      observers,
		Logger:         log,
	})
	if budget != nil {
		budget.sessions = sessions
	}
	return sessions, numbers
}

func liveSessions(m *session.Manager) []metrics.Session {
	var live []metrics.Session
	for _, i := range m.List() {
		if !i.State.Ended() {
			live = append(live, metrics.Session{Protocol: i.Protocol, State: string(i.State)})
		}
	}
	return live
}

// linesLost is nil if there is no audit log.
func linesLost(trail *audit.Log) func() int64 {
	if trail == nil {
		return nil
	}
	return trail.Lost
}

// newAudit opens the audit log, if there is to be one.
func newAudit(cfg config.Audit, log *slog.Logger) (*audit.Log, error) {
	if cfg.Path == "" {
		return nil, nil
	}
	return audit.Open(audit.Options{
		Path: cfg.Path, MaxBytes: int64(cfg.MaxBytes), Keep: cfg.Keep, Fsync: audit.Fsync(cfg.Fsync), Commands: audit.Commands(cfg.Commands),
		Version: version(), Logger: log,
	})
}

func sshOptions(cfg config.Config, log *slog.Logger) sshx.Options {
	keepalive := cfg.SSH.KeepaliveInterval
	if keepalive == 0 {
		keepalive = -1 * time.Second // the file says 0 for none, the library a negative interval
	}
	return sshx.Options{
		HostKeyPolicy: string(cfg.SSH.HostKeyPolicy), HostKeyFloor: string(cfg.SSH.HostKeyFloor),
		KnownHostsPath: cfg.SSH.KnownHostsPath, ConfigPath: cfg.SSH.ConfigPath, NoConfig: !cfg.SSH.UseOpenSSHConfig,
		AllowExecDirectives: cfg.SSH.AllowExecDirectives, AllowAgentForwarding: cfg.SSH.AllowAgentForwarding,
		CallerPaths: cfg.SSH.CallerPaths, IdentityAgent: cfg.SSH.IdentityAgent,
		ConnectTimeout: cfg.Session.ConnectTimeout, KeepaliveInterval: keepalive, KeepaliveCountMax: cfg.SSH.KeepaliveCountMax,
		MaxConnectionsPerHost: cfg.SSH.MaxConnectionsPerHost,
		Logger:                log,
	}
}

// newServer makes the MCP server.
func newServer(
	cfg config.Config,
	sessions *session.Manager,
	watch *mcpapi.Watch,
	pages *mcpapi.Pages,
	ai *aiterm.Set,
	log *slog.Logger,
) *server.MCPServer {
	return mcpapi.NewServer(mcpapi.Options{
		Sessions: sessions, Version: version(), Structured: cfg.Server.Structured, ReadOnly: cfg.Server.ReadOnly, Toolsets: cfg.Server.Toolsets, More: moreToolsets(cfg.Toolsets, ai), Local: localTransports(cfg.Local),
		MaxWait: cfg.Limits.MaxWait, ReadTimeout: max(cfg.Session.ReadTimeout, 1), ExecTimeout: cfg.Session.DefaultExecTimeout,
		MaxConnectTimeout: cfg.Limits.MaxConnectTimeout, MaxExecTimeout: cfg.Limits.MaxExecTimeout, MaxReadBytes: cfg.Limits.MaxReadBytes, MaxFileRead: cfg.FS.MaxReadBytes,
		LockTTL: cfg.Locks.DefaultTTL, MaxLockTTL: cfg.Locks.MaxTTL, AllowForce: cfg.Locks.AllowForce,
		NoInteractive: !cfg.Auth.Interactive, Elicitation: cfg.Auth.Elicitation, JSONRPCErrors: cfg.Server.JSONRPCErrors, Watch: watch, Pages: pages, Logger: log,
	})
}

// moreToolsets are the tools of other terminal servers, which are offered only by name.
func moreToolsets(cfg config.Toolsets, ai *aiterm.Set) []mcpapi.Toolset {
	return []mcpapi.Toolset{
		ai.Toolset(),
		pty.Toolset(pty.Options{BufferLines: cfg.PTY.MaxBufferLines}),
		kpty.Toolset(),
	}
}

// forPeople is the configuration of the server that the commands of people call, which are made of the core tools,
// whatever agents are offered.
func forPeople(cfg config.Config) config.Config {
	if sets := cfg.Server.Toolsets; len(sets) > 0 && !slices.Contains(sets, "core") {
		cfg.Server.Toolsets = append([]string{"core"}, sets...)
	}
	return cfg
}
