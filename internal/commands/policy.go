package commands

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"ptyctl/internal/cli"

	"ptyctl/config"
	"ptyctl/internal/app"
	"ptyctl/internal/policycheck"
	"ptyctl/internal/tty"
	"ptyctl/policy"
	"ptyctl/quote"
	"ptyctl/session/shell"
)

func policyCommand() *cli.Command {
	return &cli.Command{
		Name: "policy", Usage: "look at the operator's rules, and ask them",
		Subcommands: []*cli.Command{
			{
				Name: "check", Usage: "say whether a caller may run a command, and which rule says so; " +
					"the status is 1 if not",
				ArgsUsage: "-- COMMAND [ARGUMENT...]   (one argument is a line for a shell, more are words)",
				Flags: []cli.Flag{
					configFlag(),
					&cli.StringFlag{
						Name:  "host",
						Usage: "the `HOST` to run it on, as a caller names it; that is asked, too",
					},
					&cli.StringFlag{Name: "user", Aliases: []string{"l"}, Usage: "log in as `NAME`"},
					&cli.IntFlag{Name: "port", Aliases: []string{"p"}, Usage: "connect to `PORT`"},
					&cli.StringFlag{
						Name:    "jump",
						Aliases: []string{"J"},
						Usage:   "go through `HOSTS`, as the -J of ssh(1)",
					},
					&cli.StringFlag{
						Name:  "protocol",
						Value: "ssh",
						Usage: "the `PROTOCOL` of the session, one of ssh, telnet, serial, local",
					},
					&cli.StringFlag{Name: "cwd", Usage: "the working `FOLDER`"},
					&cli.StringFlag{
						Name:  "class",
						Value: "posix",
						Usage: "the `CLASS` of what reads the command, one of " + strings.Join(shell.Classes(), ", "),
					},
					&cli.BoolFlag{Name: "type", Usage: "ask about typing it into a terminal, in place of running it"},
				},
				Action: checkPolicy,
			},
			policyTestCommand(),
			{
				Name: "show", Usage: "list the rules and where each is set",
				Flags: []cli.Flag{configFlag()},
				Action: func(c *cli.Context) error {
					if c.NArg() > 0 {
						return usageError{fmt.Errorf("policy show takes no argument %q", c.Args().First())}
					}
					cfg, err := fileConfig(c)
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
			return cli.ShowHelp(c)
		},
	}
}

// loadPolicy returns the configuration and the rules that it has.
func loadPolicy(c *cli.Context) (config.Config, *policy.Policy, error) {
	cfg, err := fileConfig(c)
	if err != nil {
		return cfg, nil, err
	}
	p, err := app.NewPolicy(cfg)
	return cfg, p, err
}

// sayUnenforced prints that the rules are only reported, if that is so.
func sayUnenforced(c *cli.Context, cfg config.Config) error {
	if cfg.Policy.Mode != config.PolicyModeReport {
		return nil
	}
	_, err := fmt.Fprintln(c.App.Writer, "NOT ENFORCED: "+app.NotEnforced)
	return err
}

var errDenied = errors.New("denied")

func checkPolicy(c *cli.Context) error {
	if c.NArg() == 0 {
		return usageError{
			errors.New("policy check needs a command, such as: ptyctl policy check -- systemctl restart nginx"),
		}
	}
	q := policycheck.Query{
		Protocol: c.String("protocol"), Host: c.String("host"), User: c.String("user"), Port: c.Int("port"),
		Jump: c.String("jump"), Dir: c.String("cwd"), Class: c.String("class"), Typed: c.Bool("type"),
		Command: c.Args().First(),
	}
	if c.NArg() > 1 {
		q.Argv = c.Args()
		q.Command = quote.Show(q.Argv)
	}
	if c.Args().First() == "" || strings.TrimSpace(q.Command) == "" {
		return usageError{errors.New("the command is empty; give it behind --")}
	}
	if err := q.Check(); err != nil {
		return usageError{err}
	}
	cfg, p, err := loadPolicy(c)
	if err != nil {
		return err
	}
	if p.Gate() == nil {
		_, err := fmt.Fprintln(c.App.Writer, "allowed: there are no rules")
		return err
	}
	if err := sayUnenforced(c, cfg); err != nil {
		return err
	}
	got := q.Judge(c.Context, cfg, p)
	var text string
	switch got.Verdict {
	case policycheck.Allow:
		text = "allowed\n"
		if got.Runs != "" {
			text += "runs: " + got.Runs + "\n"
		}
	default:
		text = fmt.Sprintf("denied: %v\n", got.Reason)
		if got.Rule != "" {
			text += "rule: " + got.Rule + "\n"
		}
		if got.Verdict == policycheck.Ask {
			text += "the person at the client is asked, and may allow it\n"
		}
	}
	if _, err := io.WriteString(c.App.Writer, text); err != nil || got.Verdict == policycheck.Allow {
		return err
	}
	return errDenied
}

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
		b.WriteString("note: " + app.NoBoundary + "\n")
	}
	if b.Len() == 0 {
		b.WriteString("there are no rules: callers may do whatever the account can do\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func policyTestCommand() *cli.Command {
	return &cli.Command{
		Name:      "test",
		Usage:     "compare the rules with a file of commands and expected verdicts; the status is 1 if any differs",
		ArgsUsage: "FILE",
		Description: "Each line of FILE is a verdict, its subject, and after -- a command line as it is, " +
			"without quotes of its own:\n\n" +
			"    allow -- systemctl status nginx\n" +
			"    deny --host db1 -- rm -rf /var/lib/mysql\n" +
			"    ask --type -- git push\n" +
			"    deny --host core1\n\n" +
			"The verdict is allow, deny, or ask, where the person at the client decides. " +
			"The flags are those of policy check:\n" +
			"--host, --user, --port, --jump, --protocol, --cwd, --class and --type; with --argv, " +
			"the words between blanks are given\n" +
			"one by one, and no shell reads them. Without a command, it is about opening the host.\n" +
			"Empty lines and lines that begin with # are left out.\n" +
			"Each line that the rules judge in another way is printed with its place, the rule and the\n" +
			"reason. The status is 2 if a line cannot be read, or if there is none. " +
			"With policy.mode = report the verdicts are\n" +
			"those of rules that are enforced.",
		Flags: []cli.Flag{configFlag()},
		Action: func(c *cli.Context) error {
			words, err := arguments(c, 1, 1)
			if err != nil {
				return err
			}
			return testPolicy(c, words[0])
		},
	}
}

func testPolicy(c *cli.Context, file string) error {
	cfg, p, err := loadPolicy(c)
	if err != nil {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return usageError{err}
	}
	defer f.Close()
	list, err := policycheck.ReadExpectations(f, file)
	if err != nil {
		return usageError{err}
	}
	if err := sayUnenforced(c, cfg); err != nil {
		return err
	}
	differ := 0
	for _, e := range list {
		got := e.Judge(c.Context, cfg, p)
		if got.Verdict == e.Verdict {
			continue
		}
		differ++
		why := "no rule is against it"
		if got.Reason != nil {
			why = fmt.Sprintf("%s: %v", got.Rule, got.Reason)
		}
		_, err := fmt.Fprintf(c.App.Writer, "%s:%d: expected %s, got %s: %s\n",
			file, e.Line, e.Verdict, got.Verdict, tty.Printable(why))
		if err != nil {
			return err
		}
	}
	if differ > 0 {
		return fmt.Errorf("policy test: %d of %d verdicts differ", differ, len(list))
	}
	_, err = fmt.Fprintf(c.App.Writer, "ok: %s\n", tty.Count(len(list), "verdict"))
	return err
}
