package app

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"ptyctl/audit"
	"ptyctl/config"
	"ptyctl/policy"
	"ptyctl/sshx"
	"ptyctl/term"
)

// PolicyRules are the rules of the operator, each with the place where it is set.
func PolicyRules(cfg config.Config) policy.Rules {
	from := func(key string, texts []string) []policy.Rule {
		list := make([]policy.Rule, len(texts))
		for i, t := range texts {
			list[i] = policy.Rule{Text: t, Name: key, Where: cfg.Origin(key)}
		}
		return list
	}
	p := cfg.Policy
	var credentials []policy.Credential
	for _, c := range p.Credential {
		credentials = append(
			credentials,
			policy.Credential{
				Source: c.Source, Hosts: c.Hosts, Users: c.Users, HostKey: string(c.HostKey),
				Name: "policy.credential", Where: c.Where,
			},
		)
	}
	return policy.Rules{
		Allow: from("policy.allow", p.Allow), Deny: from("policy.deny", p.Deny), Ask: from("policy.ask", p.Ask),
		Programs: from("policy.programs", p.Programs), DenyPrograms: from("policy.deny_programs", p.DenyPrograms),
		WorkDirs: from("policy.work_dirs", p.WorkDirs),
		Hosts:    from("policy.hosts", p.Hosts), DenyHosts: from("policy.deny_hosts", p.DenyHosts),
		ReadOnlyHosts: from("policy.read_only_hosts", p.ReadOnlyHosts),
		ExecOnlyHosts: from("policy.exec_only_hosts", p.ExecOnlyHosts),
		Protocols:     from("policy.protocols", p.Protocols),
		Credentials:   credentials,
		Preset:        string(p.Preset), PresetName: "policy.preset", PresetWhere: cfg.Origin("policy.preset"),
		Typing: policy.Typing(p.Typing), TypingName: "policy.typing", TypingWhere: cfg.Origin("policy.typing"),
		Permissions: p.Permissions,
		Consent:     p.Consent == config.PolicyConsentElicit || p.Consent == config.PolicyConsentPerson,
		Person:      p.Consent == config.PolicyConsentPerson,
		Report:      p.Mode == config.PolicyModeReport, ReportName: "policy.mode", ReportWhere: cfg.Origin("policy.mode"),
		Meaning: func(ctx context.Context, name string) policy.Meaning {
			host, port, addresses := sshx.Means(ctx, name, QuietSSHOptions(cfg))
			return policy.Meaning{Host: host, Port: port, Addresses: addresses}
		},
	}
}

// NewPolicy makes the policy of cfg. Rules that are wrong are a *ConfigError.
func NewPolicy(cfg config.Config) (*policy.Policy, error) {
	// A question that nobody may answer would keep its call waiting for nothing.
	if mode := cfg.Server.Control.ControlMode; cfg.Policy.Consent == config.PolicyConsentPerson &&
		mode != config.ControlReadWrite && !servesPage(cfg) {
		return nil, &ConfigError{fmt.Errorf("policy.consent is \"person\", and people answer at the control socket, where "+
			"server.control.control_mode is %q; set it to \"readwrite\", or serve the watch page (server.http.watch)", mode)}
	}
	p, err := policy.New(PolicyRules(cfg))
	if err != nil {
		return nil, &ConfigError{fmt.Errorf("the rules of [policy] are wrong: %w", err)}
	}
	return p, nil
}

// rules are the gate in force. It is replaced as a whole when the configuration is read again, and then judges also the
// sessions that are open.
type rules struct{ current atomic.Pointer[term.Gate] }

// judge is the term.Gate.
func (r *rules) judge(ctx context.Context, a term.Action) (term.Ruling, error) {
	return (*r.current.Load())(ctx, a)
}

// newGate returns a gate that first checks whether the caller may use this machine, then asks the rules, unless they
// leave the action to people. In report mode it logs each action that the rules would deny.
func newGate(cfg config.Config, log *slog.Logger) (term.Gate, error) {
	p, err := NewPolicy(cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Policy.Mode == config.PolicyModeReport {
		log.Warn(NotEnforced, "where", cfg.Origin("policy.mode"))
	}
	forwards, err := forwardGate(cfg)
	if err != nil {
		return nil, err
	}
	if err := checkSerial(cfg); err != nil {
		return nil, err
	}
	local, lines, rules := localGate(cfg.Local), serialGate(cfg.Serial.Allow), p.Gate()
	own := func(ctx context.Context, a term.Action) (term.Ruling, error) {
		if a.Verb == term.VerbForward {
			if err := forwards(a); err != nil {
				return term.Ruling{}, err
			}
		}
		if ruling, err := local(ctx, a); err != nil {
			return ruling, err
		}
		return term.Ruling{}, lines(a)
	}
	if rules == nil {
		return own, nil
	}
	personal := unjudged(cfg)
	return func(ctx context.Context, a term.Action) (term.Ruling, error) {
		if _, err := own(ctx, a); err != nil || personal(a) {
			return term.Ruling{}, err
		}
		would := func(err error) {
			d := audit.NewDenial(a.Verb, err, audit.Commands(cfg.Audit.Commands))
			log.Warn(
				"this would be denied if policy.mode were enforce",
				"session",
				a.Session,
				"host",
				a.Host,
				"action",
				string(a.Verb),
				"task",
				a.Actor.Task,
				"rule",
				d.Rule,
				"reason",
				d.Reason,
			)
		}
		ruling, err := rules(ctx, a)
		if ruling.Reported != nil {
			would(ruling.Reported)
		}
		if ruling.Grant.Report != nil {
			ruling.Grant.Report = func(_ string, why error) { would(why) }
		}
		return ruling, err
	}, nil
}

// NotEnforced is the notice for operators who look at rules in report mode.
const NotEnforced = `policy.mode is "report": no rule of [policy] is enforced; ` +
	`what they would deny is done, and recorded`

// NoBoundary is the notice for operators with only deny and ask rules for commands.
const NoBoundary = "policy.deny, policy.ask and what PTY_PERMISSIONS denies or asks about are for honest mistakes: " +
	"there is always one more way to run what they name; what must not happen is kept by policy.allow or policy.preset"
