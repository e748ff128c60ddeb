package app

import (
	"context"

	"ptyctl/config"
	"ptyctl/fleet"
	"ptyctl/fleet/nodes"
	"ptyctl/fleet/saved"
	"ptyctl/mcpapi/subscribe"
	"ptyctl/mcpapi/toolset/aiterm"
	"ptyctl/sshx/sshconfig"
	"ptyctl/term"
	"ptyctl/watch/feed"
)

// newFleets makes the runs over many hosts. They have the gate, the record and the observers of sessions, except for the
// observers that show sessions.
func (a *App) newFleets(
	dial term.Dialer, gate term.Gate, journal term.Journal, observers []term.Observer, room func() error,
) *fleet.Fleets {
	var records []term.Observer
	for _, o := range observers {
		switch o.(type) {
		case *subscribe.Watch, *feed.Feed, *aiterm.Set, stirred:
		default:
			records = append(records, o)
		}
	}
	cfg := a.cfg
	return fleet.New(fleet.Config{
		Dial: dial, Judge: a.dialers.judge, Gate: gate, Journal: journal, Observers: records, Known: a.dialers.known, Room: room,
		Here: a.files, FarFiles: farFiles(cfg.FS), CopyBytes: int64(cfg.FS.MaxCopyBytes),
		Node: a.cluster.name(), MaxHosts: cfg.Fleet.MaxHosts, MaxParallel: cfg.Fleet.MaxParallel, MaxPerJump: cfg.Fleet.MaxPerJumpHost,
		OutputBytes: cfg.Limits.MaxTotalBufferBytes / 4,
		Retention:   max(cfg.Session.ClosedRetention, 1), Logger: a.log,
	})
}

// FleetAnswers returns the answers of a run to the operator of this process.
func (a *App) FleetAnswers(ctx context.Context, id string) (*saved.Answers, error) {
	run, err := a.fleets.Get(term.WithActor(ctx, term.Actor{Operator: true}), id)
	if err != nil {
		return nil, err
	}
	return run.Answers(), nil
}

// fleetHosts reads the sources of host names, for each call again: they are files that people edit.
func (a *App) fleetHosts(ctx context.Context) *nodes.Book {
	return a.dialers.current.Load().hosts.Read(ctx)
}

// HostSources are the places where the configuration says that hosts and groups are written down.
func HostSources(cfg config.Config) nodes.Sources {
	s := nodes.Sources{
		Groups: make(map[string]string, len(cfg.Groups)), GroupsFrom: "[groups]",
		Inventories: cfg.Fleet.Inventories, Genders: cfg.Fleet.Genders,
	}
	for _, g := range cfg.Groups {
		s.Groups[g.Name] = g.Hosts
	}
	if cfg.SSH.UseOpenSSHConfig {
		s.Aliases = func(ctx context.Context) ([]string, error) { return HostAliases(ctx, cfg) }
	}
	return s
}

// HostAliases returns the hosts that ssh_config names, without patterns. With an error it returns those found before.
func HostAliases(ctx context.Context, cfg config.Config) ([]string, error) {
	var o sshconfig.Options
	if cfg.SSH.ConfigPath != "" {
		o.UserFile, o.SystemFile = cfg.SSH.ConfigPath, "none" // as with ssh -F
	}
	return sshconfig.Aliases(ctx, o)
}

// runs returns how many runs over many hosts have not ended.
func (a *App) runs() (n int) {
	for _, run := range a.fleets.List(term.WithActor(context.Background(), term.Actor{Operator: true})) {
		select {
		case <-run.Done():
		default:
			n++
		}
	}
	return n
}
