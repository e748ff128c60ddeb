package app

import (
	"context"

	"ptyctl/config"
	"ptyctl/fleet/nodes"
	"ptyctl/sshx/sshconfig"
)

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
