package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"

	"ptyctl/audit"
	"ptyctl/config"
	"ptyctl/mcpapi/verdict"
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
	// A question that no person may answer would keep its call waiting in vain.
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

// NotEnforced is the notice for operators who look at rules in report mode.
const NotEnforced = `policy.mode is "report": no rule of [policy] is enforced; ` +
	`what they would deny is done, and recorded`

// NoBoundary is the notice for operators with only deny and ask rules for commands.
const NoBoundary = "policy.deny, policy.ask and what PTY_PERMISSIONS denies or asks about are for honest mistakes: " +
	"there is always one more way to run what they name; what must not happen is kept by policy.allow or policy.preset"

// rules holds the rules in force. A reload of the configuration replaces them as a whole, and the new rules judge also
// the open sessions.
type rules struct{ current atomic.Pointer[ruleSet] }

// A ruleSet holds the rules of one reading of the configuration.
type ruleSet struct {
	gate   term.Gate
	abroad term.Gate // for actions of another node for callers of this one
	digest string

	reported func(a term.Action, would error) // logs a denial that the rules would make if they were enforced
}

// judge is the term.Gate. A call that another node has passed on is judged there as well, and the strictest rule wins:
// that node is asked unless its rules, as the call says, are the same as these. A close is never denied, and must work
// when that node cannot be asked.
func (r *rules) judge(ctx context.Context, a term.Action) (term.Ruling, error) {
	own := r.current.Load()
	if theirs := a.Actor.Rules; theirs == "" || theirs == own.digest || a.Verb == term.VerbClose {
		return own.gate(ctx, a)
	}
	entry := term.EntryGateFrom(ctx)
	if entry == nil {
		return term.Ruling{}, verdict.Unasked(a, a.Actor.Node, "is asked only about what is done in the course of a call")
	}
	theirs, err := entry(ctx, a)
	if err != nil {
		return term.Ruling{}, err
	}
	if theirs.Reported != nil {
		own.reported(a, theirs.Reported)
	}
	ruling, err := own.gate(ctx, inForm(a, theirs))
	if err != nil {
		return term.Ruling{}, err
	}
	if ruling.Command == "" {
		ruling.Command = theirs.Command
	}
	if ruling.Argv == nil {
		ruling.Argv = theirs.Argv
	}
	if ruling.Reported == nil {
		ruling.Reported = theirs.Reported
	}
	if a.Plan != nil {
		ruling.Grant.Names = slices.Compact(slices.Sorted(slices.Values(slices.Concat(ruling.Grant.Names, theirs.Grant.Names))))
	}
	return ruling, nil
}

// inForm returns the action in the form in which a ruling allows it.
func inForm(a term.Action, r term.Ruling) term.Action {
	if r.Argv != nil {
		a.Argv, a.Command = r.Argv, r.Command
		return a
	}
	if r.Command != "" { // a line for the shell, also where the caller gave words
		a.Command, a.Argv = r.Command, nil
	}
	return a
}

// digest returns the digest of the rules in force.
func (r *rules) digest() string { return r.current.Load().digest }

// abroad is the term.Gate for actions of another node for callers of this one.
func (r *rules) abroad(ctx context.Context, a term.Action) (term.Ruling, error) {
	return r.current.Load().abroad(ctx, a)
}

// newRules returns the rules of cfg. Their gate first checks whether the caller may use this machine, then asks the
// policy, unless that leaves the action to people. In report mode it logs each action that the policy would deny.
func newRules(cfg config.Config, log *slog.Logger) (*ruleSet, error) {
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
	local, lines := localGate(cfg.Local), serialGate(cfg.Serial.Allow)
	machine := func(ctx context.Context, a term.Action) (term.Ruling, error) {
		if a.Verb == term.VerbForward {
			if err := forwards(a); err != nil {
				return term.Ruling{}, err
			}
		}
		return local(ctx, a)
	}
	own := func(ctx context.Context, a term.Action) (term.Ruling, error) {
		if ruling, err := machine(ctx, a); err != nil {
			return ruling, err
		}
		return term.Ruling{}, lines(a)
	}
	personal := unjudged(cfg)
	r := &ruleSet{digest: digestOf(cfg)}
	r.reported = func(a term.Action, would error) {
		d := audit.NewDenial(a.Verb, would, audit.Commands(cfg.Audit.Commands))
		log.Warn("this would be denied if policy.mode were enforce", "session", a.Session, "host", a.Host, "action", string(a.Verb),
			"task", a.Actor.Task, "rule", d.Rule, "reason", d.Reason)
	}
	then := func(first, policy term.Gate, reports bool) term.Gate {
		if policy == nil {
			return first
		}
		return func(ctx context.Context, a term.Action) (term.Ruling, error) {
			if _, err := first(ctx, a); err != nil || personal(a) {
				return term.Ruling{}, err
			}
			ruling, err := policy(ctx, a)
			if reports && ruling.Reported != nil {
				r.reported(a, ruling.Reported)
			}
			if ruling.Grant.Report != nil {
				ruling.Grant.Report = func(_ string, why error) { r.reported(a, why) }
			}
			return ruling, err
		}
	}
	// The serial lines of this machine are not those of another. The node that acts logs what these rules report.
	r.gate, r.abroad = then(own, p.Gate(), true), then(machine, p.Abroad(), false)
	return r, nil
}

// judged holds the settings that decide a verdict, except those that belong to one machine: its serial lines, how its
// ssh_config and name servers resolve a name, and who answers there. Two nodes with equal settings give the same
// verdicts.
type judged struct {
	Format int // of this digest, raised when the meaning of a field changes

	Preset, Mode, Consent, Typing              string
	Allow, Deny, Ask                           []string
	Programs, DenyPrograms, WorkDirs           []string
	Hosts, DenyHosts, ReadOnlyHosts, ExecHosts []string
	Protocols                                  []string
	Permissions                                string
	Credentials                                []judgedCredential

	LocalStdio, LocalHTTP bool
	Forward               []string
}

type judgedCredential struct {
	Source, HostKey string
	Hosts, Users    []string
}

// digestOf returns the digest of the rules of cfg: SHA-256, in hex. Where in a file a rule is does not count; its place in
// its list does.
func digestOf(cfg config.Config) string {
	p := cfg.Policy
	all := func(list []string) []string { return append([]string{}, list...) } // nil is empty
	j := judged{
		Format: 1,
		Preset: string(p.Preset), Mode: string(p.Mode), Consent: string(p.Consent), Typing: string(p.Typing),
		Allow: all(p.Allow), Deny: all(p.Deny), Ask: all(p.Ask),
		Programs: all(p.Programs), DenyPrograms: all(p.DenyPrograms), WorkDirs: all(p.WorkDirs),
		Hosts: all(p.Hosts), DenyHosts: all(p.DenyHosts), ReadOnlyHosts: all(p.ReadOnlyHosts), ExecHosts: all(p.ExecOnlyHosts),
		Protocols: all(p.Protocols), Permissions: p.Permissions,
		LocalStdio: cfg.Local.Stdio, LocalHTTP: cfg.Local.HTTP, Forward: all(cfg.Forward.Allow),
	}
	for _, c := range p.Credential {
		j.Credentials = append(j.Credentials, judgedCredential{c.Source, string(c.HostKey), all(c.Hosts), all(c.Users)})
	}
	text, _ := json.Marshal(j) // of texts
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
