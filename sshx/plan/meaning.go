package plan

import (
	"context"
	"slices"
	"strings"

	"ptyctl/sshx/hostkeys"
	"ptyctl/sshx/sshconfig"
)

// jumpsOrigin returns the origin of a configuration's jumps.
func jumpsOrigin(cfg *sshconfig.Config) sshconfig.Origin {
	if at := cfg.Origin("ProxyJump"); at.Source != sshconfig.Default {
		return at
	}
	return cfg.Origin("ProxyCommand") // an ssh -W
}

// meaning finds the names by which the operator's own configuration leads to h,
// and the operator's record for it. cfg is the result of the caller's and the
// operator's settings together; asked is the question to the operator's
// configuration.
func (p *Planning) meaning(ctx context.Context, cfg *sshconfig.Config, asked sshconfig.Options, h *Hop) error {
	// Without influence of the caller the configuration is the operator's own.
	// Otherwise the operator's files are asked twice: do they lead from the
	// caller's name to this host, and if not, do they at least know the host
	// itself?
	own := cfg
	h.Vouched = []string{h.Name, h.Host}
	if p.influenced(cfg, asked) {
		var err error
		if own, err = p.askOperator(ctx, cfg, asked); err != nil {
			return err
		}
		if !leads(own, cfg) {
			h.Vouched = nil
			asked = sshconfig.Options{Host: cfg.HostName}
			if own, err = p.askOperator(ctx, cfg, asked); err != nil {
				return err
			}
			if leads(own, cfg) {
				h.Vouched = []string{h.Host}
			}
		}
	}
	h.record = hostkeys.Options{
		KnownHosts: p.o.KnownHosts, UserFiles: p.userFiles(own), GlobalFiles: p.globalFiles(own),
		RevokedFiles: own.RevokedHostKeys, Alias: h.HostKeys.Alias, RequiredRSASize: own.RequiredRSASize,
		CASignatureAlgorithms: own.CASignatureAlgorithms, ReadOnly: true,
	}
	return nil
}

// influenced reports whether the caller has changed cfg in a way that asked does
// not include.
func (p *Planning) influenced(cfg *sshconfig.Config, asked sshconfig.Options) bool {
	return p.configPath != "" || p.t.SSH.NoConfig || cfg.Port != asked.Port && cfg.Origin("Port").Caller() ||
		slices.ContainsFunc(p.overridesOf(cfg), func(v sshconfig.Override) bool { return v.Origin.Caller() })
}

// overridesOf returns the options with which cfg was evaluated. For a jump
// written as ProxyCommand ssh -W they have the origin of that line.
func (p *Planning) overridesOf(cfg *sshconfig.Config) []sshconfig.Override {
	for _, e := range p.Evaluated {
		if e.Config == cfg {
			return e.overrides
		}
	}
	return nil
}

// askOperator evaluates the operator's own configuration, as if the caller had
// given only host and user.
func (p *Planning) askOperator(
	ctx context.Context,
	cfg *sshconfig.Config,
	asked sshconfig.Options,
) (*sshconfig.Config, error) {
	if cfg.Origin("User").Caller() {
		asked.User = cfg.User
	}
	return p.evaluateOwn(ctx, cfg, asked)
}

// leads reports whether own, the operator's configuration for some name, leads to
// the same place as cfg. A port set by the operator belongs to the place, because
// one address may have many hosts behind it.
func leads(own, cfg *sshconfig.Config) bool {
	return strings.EqualFold(strings.TrimSuffix(own.HostName, "."), strings.TrimSuffix(cfg.HostName, ".")) &&
		(own.Origin("Port").Source == sshconfig.Default || own.Port == cfg.Port)
}
