package plan

import (
	"context"
	"slices"

	"ptyctl/sshx/hostkeys"
	"ptyctl/sshx/sshconfig"
	"ptyctl/term"
)

// trust sets how the host key of one hop is decided. The policy is the call's
// (for the target only), else the configuration's, else the operator's, never
// weaker than the floor; and the operator's record decides. A fingerprint or
// files from the caller are an additional condition.
func (p *Planning) trust(ctx context.Context, cfg *sshconfig.Config, h *Hop, target bool) error {
	want, from := p.o.HostKeyPolicy, sshconfig.Origin{Source: sshconfig.Default}
	if at := cfg.Origin("StrictHostKeyChecking"); at.Source != sshconfig.Default {
		want, from = policyWords[cfg.StrictHostKeyChecking], at
	}
	if target && p.t.SSH.HostKeyPolicy != "" {
		want, from = p.t.SSH.HostKeyPolicy, sshconfig.Origin{Source: sshconfig.Argument}
	}
	policy, err := p.floor(want, from)
	if err != nil {
		return err
	}
	own, err := p.operators(ctx, cfg)
	if err != nil {
		return err
	}
	// Settings that could loosen the check come from the operator; those that can
	// only tighten it are combined.
	o := hostkeys.Options{
		Policy: policy, Floor: policies[p.o.HostKeyFloor], NoPin: !target,
		KnownHosts: p.o.KnownHosts, UserFiles: p.userFiles(own), GlobalFiles: p.globalFiles(own),
		RevokedFiles: own.RevokedHostKeys, Alias: own.HostKeyAlias, HashNewNames: cfg.HashKnownHosts,
		RequiredRSASize: max(own.RequiredRSASize, cfg.RequiredRSASize),
		CheckIP:         own.CheckHostIP || cfg.CheckHostIP, KeepAddresses: !own.CheckHostIP,
		CASignatureAlgorithms: slices.DeleteFunc(slices.Clone(cfg.CASignatureAlgorithms), func(a string) bool {
			return !slices.Contains(own.CASignatureAlgorithms, a)
		}),
		NoHostAuthenticationForLocalhost: own.NoHostAuthenticationForLocalhost && cfg.NoHostAuthenticationForLocalhost,
	}
	callers := slices.Concat(p.userFiles(cfg), p.globalFiles(cfg))
	var record []string // the caller's files that may receive new keys
	if cfg.Origin("UserKnownHostsFile").Caller() {
		record = cfg.UserKnownHostsFiles
	}
	if target {
		if path := p.t.SSH.KnownHostsPath; path != "" {
			callers, record = []string{path}, []string{path}
			p.Route.warn(
				"host keys were compared with the caller's " + path + " as well as with the operator's known_hosts",
			)
		}
		o.Fingerprint = p.t.SSH.HostKeyFingerprint
	}
	if len(record) > 0 && o.Floor >= hostkeys.AcceptNew { // below this floor such a file admits no host
		o.RecordFile = record[0]
		// A line of known_hosts is also a valid line of authorized_keys. If a
		// caller may name any file, none of the caller's files is written.
		o.ReadOnly = len(p.o.CallerPaths) == 0
	}
	// A file of the operator decides even if the caller names it, too.
	for _, file := range callers {
		if !slices.Contains(o.UserFiles, file) && !slices.Contains(o.GlobalFiles, file) {
			o.CallerFiles = append(o.CallerFiles, file)
		}
	}
	h.HostKeys = o
	h.UpdateHostKeys = cfg.UpdateHostKeys == "yes" && own.UpdateHostKeys == "yes"
	return nil
}

// userFiles returns the user's known_hosts files of a configuration. The operator's
// own setting replaces the files of ssh_config, but not those of a caller, which are an
// additional condition.
func (p *Planning) userFiles(cfg *sshconfig.Config) []string {
	switch {
	case cfg.Origin("UserKnownHostsFile").Caller():
		return cfg.UserKnownHostsFiles
	case p.o.KnownHosts != nil:
		return nil
	case p.o.KnownHostsPath != "":
		return []string{p.o.KnownHostsPath}
	}
	return cfg.UserKnownHostsFiles
}

// globalFiles is userFiles for the system's known_hosts files.
func (p *Planning) globalFiles(cfg *sshconfig.Config) []string {
	if p.o.KnownHosts != nil && !cfg.Origin("GlobalKnownHostsFile").Caller() {
		return nil
	}
	return cfg.GlobalKnownHostsFiles
}

// operators evaluates the operator's own ssh_config for the host of cfg, without
// the options and files of the call. If the caller has set the host name, the
// record of that host counts.
func (p *Planning) operators(ctx context.Context, cfg *sshconfig.Config) (*sshconfig.Config, error) {
	if p.configPath == "" && !p.t.SSH.NoConfig && len(p.t.SSH.ExtraArgs) == 0 {
		return cfg, nil
	}
	host := cfg.Host
	if cfg.Origin("HostName").Caller() {
		host = cfg.HostName
	}
	return p.evaluateOwn(ctx, cfg, sshconfig.Options{Host: host, User: cfg.User, Port: cfg.Port})
}

// evaluateOwn evaluates the operator's own ssh_config, with the operator's own
// options of the host of cfg: a jump written as ProxyCommand ssh -W has some.
func (p *Planning) evaluateOwn(
	ctx context.Context,
	cfg *sshconfig.Config,
	eo sshconfig.Options,
) (*sshconfig.Config, error) {
	eo.Overrides = slices.DeleteFunc(
		slices.Clone(p.overridesOf(cfg)),
		func(v sshconfig.Override) bool { return v.Origin.Caller() },
	)
	own, err := sshconfig.Evaluate(ctx, p.own(ctx, eo))
	if err != nil {
		return nil, configError("the operator's ssh_config for "+eo.Host, err)
	}
	return own, nil
}

// own adds the operator's files to the options of an evaluation.
func (p *Planning) own(ctx context.Context, eo sshconfig.Options) sshconfig.Options {
	eo.NoFiles = eo.NoFiles || p.o.NoConfig
	eo.UserFile = p.o.ConfigPath
	if p.o.ConfigPath != "" {
		eo.SystemFile = "none" // as with ssh -F
	}
	eo.HomeDir = p.o.HomeDir
	eo.AllowExec = p.o.AllowExecDirectives
	eo.Exec = runMatchExec
	eo.LookupEnv = term.EnvironmentFrom(ctx).Lookup
	eo.Dir, _ = callersPath(ctx, ".")
	eo.Defaults = algorithmDefaults()
	return eo
}
