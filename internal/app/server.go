package app

import (
	"slices"

	"ptyctl/config"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/toolset/aiterm"
	"ptyctl/mcpapi/toolset/kpty"
	"ptyctl/mcpapi/toolset/pty"
	"ptyctl/mcpapi/toolset/r2"
)

// newServer makes the MCP server of the sessions, with the tools and limits of cfg.
func (a *App) newServer(cfg config.Config) *mcpapi.Server {
	var answered func(serial uint64, text string, failed bool)
	if a.feed != nil {
		answered = a.feed.Answered
	}
	return mcpapi.NewServer(mcpapi.Options{
		Sessions: a.sessions, Fleet: toolset.Fleet{Runs: a.fleets, Nodes: a.fleetHosts},
		Plan: a.dialers.plan, Version: a.version, Results: identity.Results(cfg.Server.Results), ReadOnly: cfg.Server.ReadOnly,
		Toolsets: cfg.Server.Toolsets, More: moreToolsets(cfg.Toolsets, a.sets), Local: localTransports(cfg.Local),
		Limits: toolset.Limits{
			MaxWait: cfg.Limits.MaxWait, ReadTimeout: max(cfg.Session.ReadTimeout, 1),
			ExecTimeout: cfg.Session.DefaultExecTimeout, MaxExecTimeout: cfg.Limits.MaxExecTimeout,
			UnattendedExec:    cfg.Session.UnattendedExecTimeout,
			MaxConnectTimeout: cfg.Limits.MaxConnectTimeout,
			MaxReadBytes:      cfg.Limits.MaxReadBytes, MaxFileRead: cfg.FS.MaxReadBytes,
			Format: string(cfg.Session.Format), AutoIdle: cfg.Session.AutoIdle,
			LockTTL: cfg.Locks.DefaultTTL, MaxLockTTL: cfg.Locks.MaxTTL,
		},
		Defaults: mcpapi.Defaults{
			ConnectTimeout: cfg.Session.ConnectTimeout, IdleTimeout: cfg.Session.IdleTimeout,
			HostKeyPolicy: string(cfg.SSH.HostKeyPolicy), NoSSHConfig: !cfg.SSH.UseOpenSSHConfig,
		},
		AllowForce:    cfg.Locks.AllowForce,
		NoInteractive: !cfg.Auth.Interactive, Elicitation: cfg.Auth.Elicitation,
		JSONRPCErrors: cfg.Server.JSONRPCErrors, Answered: answered, Watch: a.watch, Pages: a.pages, Consents: a.consents,
		Logger:    a.log,
		Elsewhere: a.elsewhere, Secrets: a.dialers.offered(), Apps: cfg.Server.Apps.Enabled,
		Cluster: mcpapi.ClusterOptions{
			Peers: a.cluster.others(), Memory: a.cluster.memory(), Notice: a.cluster.notice(), Lendings: &a.lendings,
			Rules: a.rules.digest, Judge: a.rules.abroad,
		},
	})
}

// stateful are the tool sets with a memory of their sessions, which all servers of this process share.
type stateful struct {
	aiterm *aiterm.Set
	kpty   *kpty.Bookmarks
	pty    *pty.Terminals
	r2     *r2.Programs
}

func newStateful() stateful {
	return stateful{aiterm.New(), kpty.NewBookmarks(), new(pty.Terminals), r2.NewPrograms()}
}

// moreToolsets are the tools of other terminal servers, and for other programs, which are offered only by name.
func moreToolsets(cfg config.Toolsets, sets stateful) []toolset.Set {
	return []toolset.Set{
		sets.aiterm.Toolset(),
		pty.Toolset(pty.Options{BufferLines: cfg.PTY.MaxBufferLines, Terminals: sets.pty}),
		kpty.Toolset(sets.kpty),
		r2.New(r2.Options{Program: cfg.R2.Program, Args: cfg.R2.Args, Shell: cfg.R2.Shell}, sets.r2).Toolset(),
	}
}

// CheckToolsets refuses a configuration that names a tool set that does not exist, or several that have the same tool.
func CheckToolsets(cfg config.Config) error {
	if len(cfg.Server.Toolsets) == 0 { // a start need not make the tools that few ask for
		return nil
	}
	if err := mcpapi.CheckToolsets(cfg.Server.Toolsets, moreToolsets(cfg.Toolsets, newStateful())); err != nil {
		return &ConfigError{err}
	}
	return nil
}

// withCore is the configuration of the server at the control socket. The commands that connect there call the core
// tools, whichever tools agents are offered.
func withCore(cfg config.Config) config.Config {
	if sets := cfg.Server.Toolsets; len(sets) > 0 && !slices.Contains(sets, "core") {
		cfg.Server.Toolsets = append([]string{"core"}, sets...)
	}
	return cfg
}
