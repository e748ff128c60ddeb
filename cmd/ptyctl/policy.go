package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/urfave/cli/v2"

	"ptyctl/audit"
	"ptyctl/config"
	"ptyctl/policy"
	"ptyctl/quote"
	"ptyctl/sshx"
	"ptyctl/term"
)

// policyRules are the operator's rules, each with the place that it comes from.
func policyRules(cfg config.Config) policy.Rules {
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
			policy.Credential{Source: c.Source, Hosts: c.Hosts, Users: c.Users, HostKey: string(c.HostKey), Where: c.Where},
		)
	}
	return policy.Rules{
		Allow: from("policy.allow", p.Allow), Deny: from("policy.deny", p.Deny), Ask: from("policy.ask", p.Ask),
		Programs: from("policy.programs", p.Programs), DenyPrograms: from("policy.deny_programs", p.DenyPrograms),
		WorkDirs: from("policy.work_dirs", p.WorkDirs),
		Hosts:    from("policy.hosts", p.Hosts), DenyHosts: from("policy.deny_hosts", p.DenyHosts),
		ReadOnlyHosts: from(
			"policy.read_only_hosts",
			p.ReadOnlyHosts,
		), ExecOnlyHosts: from("policy.exec_only_hosts", p.ExecOnlyHosts),
		Protocols:   from("policy.protocols", p.Protocols),
		Credentials: credentials,
		Preset:      string(p.Preset), PresetWhere: cfg.Origin("policy.preset"),
		Typing: policy.Typing(p.Typing), TypingWhere: cfg.Origin("policy.typing"), Permissions: p.Permissions,
		Consent: p.Consent == config.PolicyConsentElicit,
		Report:  p.Mode == config.PolicyModeReport, ReportWhere: cfg.Origin("policy.mode"),
		Meaning: func(ctx context.Context, name string) policy.Meaning {
			host, port, addresses := sshx.Means(ctx, name, quietOptions(cfg))
			return policy.Meaning{Host: host, Port: port, Addresses: addresses}
		},
	}
}

func newPolicy(cfg config.Config) (*policy.Policy, error) {
	p, err := policy.New(policyRules(cfg))
	if err != nil {
		return nil, usageError{fmt.Errorf("the rules of [policy] are wrong: %w", err)}
	}
	return p, nil
}

// newGate asks first who may use this machine, then the rules. What rules that are tried out would deny goes to log.
func newGate(cfg config.Config, log *slog.Logger) (term.Gate, error) {
	p, err := newPolicy(cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Policy.Mode == config.PolicyModeReport {
		log.Warn(notEnforced, "where", cfg.Origin("policy.mode"))
	}
	own, rules := localGate(cfg.Local), p.Gate()
	if rules == nil {
		return own, nil
	}
	return func(ctx context.Context, a term.Action) (term.Ruling, error) {
		if _, err := own(ctx, a); err != nil {
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

// notEnforced is said wherever an operator looks at rules that are tried out.
const notEnforced = `policy.mode is "report": no rule of [policy] is enforced; what they would deny is done, and recorded`

func policyCommand() *cli.Command {
	return &cli.Command{
		Name: "policy", Usage: "look at the operator's rules, and ask them",
		Subcommands: []*cli.Command{
			{
				Name: "check", Usage: "say whether a caller may run a command, and which rule says so; the status is 1 if not",
				ArgsUsage:    "-- COMMAND [ARGUMENT...]   (one argument is a line for a shell, more are words)",
				OnUsageError: wrongFlag, HideHelpCommand: true,
				Flags: []cli.Flag{
					configFlag(),
					&cli.StringFlag{Name: "host", Usage: "the `HOST` to run it on, as a caller names it; that is asked, too"},
					&cli.StringFlag{Name: "user", Aliases: []string{"l"}, Usage: "log in as `NAME`"},
					&cli.IntFlag{Name: "port", Aliases: []string{"p"}, Usage: "connect to `PORT`"},
					&cli.StringFlag{Name: "jump", Aliases: []string{"J"}, Usage: "go through `HOSTS`, as the -J of ssh(1)"},
					&cli.StringFlag{Name: "protocol", Value: "ssh", Usage: "the `PROTOCOL` of the session: ssh, telnet or local"},
					&cli.StringFlag{Name: "cwd", Usage: "the working `FOLDER`"},
					&cli.StringFlag{
						Name:  "class",
						Value: "posix",
						Usage: "the `CLASS` of what reads the command: posix, fish, csh, or another",
					},
					&cli.BoolFlag{Name: "type", Usage: "ask about typing it into a terminal, in place of running it"},
				},
				Action: checkPolicy,
			},
			policyTestCommand(),
			{
				Name: "show", Usage: "list the rules and where each is set",
				OnUsageError: wrongFlag, HideHelpCommand: true,
				Flags: []cli.Flag{configFlag()},
				Action: func(c *cli.Context) error {
					if c.NArg() > 0 {
						return usageError{fmt.Errorf("policy show takes no argument %q", c.Args().First())}
					}
					cfg, err := policyConfig(c)
					if err != nil {
						return err
					}
					return showPolicy(c.App.Writer, policyRules(cfg))
				},
			},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return usageError{fmt.Errorf("policy has no command %q; see ptyctl policy --help", c.Args().First())}
			}
			return cli.ShowSubcommandHelp(c)
		},
	}
}

func policyConfig(c *cli.Context) (config.Config, error) {
	cfg, _, err := config.Load(config.Source{Path: c.String("config")})
	if err != nil {
		return config.Config{}, usageError{fmt.Errorf("the configuration is wrong:\n%w", err)}
	}
	return cfg, nil
}

var errDenied = errors.New("denied")

func checkPolicy(c *cli.Context) error {
	if c.NArg() == 0 {
		return usageError{errors.New("policy check needs a command, such as: ptyctl policy check -- systemctl restart nginx")}
	}
	q := question{
		protocol: c.String(
			"protocol",
		), host: c.String("host"), user: c.String("user"), port: c.Int("port"), jump: c.String("jump"),
		dir: c.String("cwd"), class: c.String("class"), typed: c.Bool("type"), command: c.Args().First(),
	}
	if c.NArg() > 1 {
		q.argv = c.Args().Slice()
		q.command = quote.Show(q.argv)
	}
	if c.Args().First() == "" || strings.TrimSpace(q.command) == "" {
		return usageError{errors.New("the command is empty; give it behind --")}
	}
	if err := q.check(); err != nil {
		return usageError{err}
	}
	cfg, err := policyConfig(c)
	if err != nil {
		return err
	}
	p, err := newPolicy(cfg)
	if err != nil {
		return err
	}
	if p.Gate() == nil {
		_, err := fmt.Fprintln(c.App.Writer, "allowed: there are no rules")
		return err
	}
	if cfg.Policy.Mode == config.PolicyModeReport {
		if _, err := fmt.Fprintln(c.App.Writer, "NOT ENFORCED: "+notEnforced); err != nil {
			return err
		}
	}
	got := q.ask(c.Context, cfg, p)
	var text string
	switch got.verdict {
	case verdictAllow:
		text = "allowed\n"
		if got.runs != "" {
			text += "runs: " + got.runs + "\n"
		}
	default:
		text = fmt.Sprintf("denied: %v\n", got.reason)
		if got.rule != "" {
			text += "rule: " + got.rule + "\n"
		}
		if got.verdict == verdictAsk {
			text += "the person at the client is asked, and may allow it\n"
		}
	}
	if _, err := io.WriteString(c.App.Writer, text); err != nil || got.verdict == verdictAllow {
		return err
	}
	return errDenied
}

// noBoundary is what an operator should know whose rules for commands are deny and ask alone.
const noBoundary = "policy.deny, policy.ask and what PTY_PERMISSIONS denies or asks about are for honest mistakes: there is always one more way to run what they name; what must not happen is kept by policy.allow or policy.preset"

func showPolicy(w io.Writer, r policy.Rules) error {
	if _, err := policy.New(r); err != nil {
		return usageError{err}
	}
	var b strings.Builder
	if r.Report {
		b.WriteString("NOT ENFORCED: " + notEnforced + "\n")
	}
	for _, rule := range r.All() {
		b.WriteString(rule.String() + "\n")
	}
	if r.NoBoundary() {
		b.WriteString("note: " + noBoundary + "\n")
	}
	if b.Len() == 0 {
		b.WriteString("there are no rules: callers may do whatever the account can do\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
