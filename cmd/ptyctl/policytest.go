package main

import (
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"ptyctl/internal/policycheck"
	"ptyctl/internal/tty"
)

func policyTestCommand() *cli.Command {
	return &cli.Command{
		Name:         "test",
		Usage:        "compare the rules with a file of commands and expected verdicts; the status is 1 if any differs",
		ArgsUsage:    "FILE",
		OnUsageError: wrongFlag, HideHelpCommand: true,
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
