package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"ptyctl/config"
	"ptyctl/internal/app"
	"ptyctl/policy"
	"ptyctl/quote"
)

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
					return showPolicy(c.App.Writer, app.PolicyRules(cfg))
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
	p, err := app.NewPolicy(cfg)
	if err != nil {
		return err
	}
	if p.Gate() == nil {
		_, err := fmt.Fprintln(c.App.Writer, "allowed: there are no rules")
		return err
	}
	if cfg.Policy.Mode == config.PolicyModeReport {
		if _, err := fmt.Fprintln(c.App.Writer, "NOT ENFORCED: "+app.NotEnforced); err != nil {
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
		b.WriteString("NOT ENFORCED: " + app.NotEnforced + "\n")
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
