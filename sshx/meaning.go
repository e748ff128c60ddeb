package sshx

import (
	"context"
	"slices"
	"strings"

	"ptyctl/sshx/hostkeys"
	"ptyctl/sshx/sshconfig"
)

// wayOrigin says where a configuration's jumps come from.
func wayOrigin(cfg *sshconfig.Config) sshconfig.Origin {
	if at := cfg.Origin("ProxyJump"); at.Source != sshconfig.Default {
		return at
	}
	return cfg.Origin("ProxyCommand") // an ssh -W
}

// meaning finds out by which names the operator's own configuration leads to h, and what the operator has on record. cfg
// is what the caller's and the operator's words together come to; asked is what the operator's configuration is asked.
func (p *planning) meaning(ctx context.Context, cfg *sshconfig.Config, asked sshconfig.Options, h *hop) error {
	own := cfg
	h.vouched = []string{h.name, h.host}
	if p.influenced(cfg, asked) {
		var err error
		if own, err = p.askOperator(ctx, cfg, asked); err != nil {
			return err
		}
		if !leads(own, cfg) {
			h.vouched = nil
			asked = sshconfig.Options{Host: cfg.HostName}
			if own, err = p.askOperator(ctx, cfg, asked); err != nil {
				return err
			}
			if leads(own, cfg) {
				h.vouched = []string{h.host}
			}
		}
	}
	h.record = hostkeys.Options{
		UserFiles: own.UserKnownHostsFiles, GlobalFiles: own.GlobalKnownHostsFiles, RevokedFiles: own.RevokedHostKeys,
		Alias: h.hostKeys.Alias, RequiredRSASize: own.RequiredRSASize, CASignatureAlgorithms: own.CASignatureAlgorithms, ReadOnly: true,
	}
	if p.o.KnownHostsPath != "" && own.Origin("UserKnownHostsFile").Source == sshconfig.Default {
		h.record.UserFiles = []string{p.o.KnownHostsPath}
	}
	return nil
}

// influenced reports whether a caller has had a word about cfg that the operator's configuration is not asked with.
func (p *planning) influenced(cfg *sshconfig.Config, asked sshconfig.Options) bool {
	return p.configPath != "" || p.t.SSH.NoConfig || cfg.Port != asked.Port && cfg.Origin("Port").Caller() ||
		slices.ContainsFunc(p.overridesOf(cfg), func(v sshconfig.Override) bool { return v.Origin.Caller() })
}

// overridesOf returns the options with which cfg was read: of a jump written as ProxyCommand ssh -W they are whose that
// line is.
func (p *planning) overridesOf(cfg *sshconfig.Config) []sshconfig.Override {
	for _, e := range p.evaluated {
		if e.cfg == cfg {
			return e.overrides
		}
	}
	return nil
}

// askOperator evaluates the operator's own configuration, as if the caller had named no more than the host and the user.
func (p *planning) askOperator(
	ctx context.Context,
	cfg *sshconfig.Config,
	asked sshconfig.Options,
) (*sshconfig.Config, error) {
	if cfg.Origin("User").Caller() {
		asked.User = cfg.User
	}
	return p.evaluateOwn(ctx, cfg, asked)
}

// leads reports whether own, the operator's configuration for some name, leads to where cfg does. A port that the operator
// has set is part of where: behind one address there may be many hosts.
func leads(own, cfg *sshconfig.Config) bool {
	return strings.EqualFold(strings.TrimSuffix(own.HostName, "."), strings.TrimSuffix(cfg.HostName, ".")) &&
		(own.Origin("Port").Source == sshconfig.Default || own.Port == cfg.Port)
}
