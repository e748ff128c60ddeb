package commands

import (
	"errors"
	"fmt"
	"slices"

	"ptyctl/internal/cli"

	"ptyctl/internal/app"
	"ptyctl/internal/doctor"
	"ptyctl/internal/explain"
	"ptyctl/sshx"
)

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "find out why something does not work: this machine, and the way to a host step by step",
		ArgsUsage: "[[USER@]HOST[:PORT]]",
		Description: "Without a host it looks at the configuration, the agent and this user's keys and folders.\n" +
			"With one it also connects as a session would, opens a terminal there and closes it. Keys are named by\n" +
			"their fingerprints only. On a terminal, passwords and the like are asked for. The status is 1 if a\n" +
			"check failed; each finding says one thing to do.",
		Flags: slices.Concat([]cli.Flag{
			configFlag(),
			&cli.BoolFlag{Name: "batch", Usage: "ask nothing"},
			&cli.BoolFlag{Name: "serial", Usage: "list the serial lines of this machine: who has them, and what is missing to open one"},
			&cli.BoolFlag{Name: "json", Usage: "print JSON"},
			&cli.DurationFlag{Name: "timeout", Usage: "how long to try, such as 5s; default as for a session"},
		}, destinationFlags()),
		Action: func(c *cli.Context) error {
			words, err := arguments(c, 0, 1)
			if err != nil {
				return err
			}
			r := doctor.NewReport(c.App.Writer)
			if c.Bool("json") {
				r = doctor.NewReport(nil)
			}
			cfg, ok := r.Configuration(source(c), configFile(c.String("config")))
			switch {
			case !ok: // the report says why, and no other check can use it
			case c.Bool("serial") && len(words) > 0:
				return usageError{errors.New("--serial is about this machine; leave the host out")}
			case c.Bool("serial"):
				r.Serial(cfg)
			case len(words) == 0:
				r.Machine(c.Context, cfg, c.App.Version)
			default:
				target, err := sshTarget(c, words[0])
				if err != nil {
					return err
				}
				target.ConnectTimeout = c.Duration("timeout")
				target.Auth.NoInteractive = c.Bool("batch") || !cfg.Auth.Interactive
				r.Host(c.Context, cfg, target)
			}
			if c.Bool("json") {
				if err := printJSON(c.App.Writer, r); err != nil {
					return err
				}
			}
			if n := r.Failed(); n > 0 {
				return fmt.Errorf("doctor: %d of %d checks failed", n, len(r.Findings))
			}
			return nil
		},
	}
}

func explainCommand() *cli.Command {
	return &cli.Command{
		Name: "explain",
		Usage: "show how a host would be reached: each value of ssh_config with its place, " +
			"and the unsupported lines",
		ArgsUsage: "[USER@]HOST[:PORT]",
		Description: "Nothing is sent to the host. The status is 1 if the configuration does not let it be reached.\n" +
			"Values are those of ssh_config(5) after expansion; ~/.ssh/config is read as OpenSSH reads it.",
		Flags: slices.Concat([]cli.Flag{
			configFlag(),
			&cli.BoolFlag{Name: "all", Usage: "show defaults too, and warnings about lines for other hosts"},
			&cli.BoolFlag{Name: "json", Usage: "print JSON"},
		}, destinationFlags()),
		Action: func(c *cli.Context) error {
			words, err := arguments(c, 1, 1)
			if err != nil {
				return err
			}
			target, err := sshTarget(c, words[0])
			if err != nil {
				return err
			}
			cfg, _, err := loadConfig(c)
			if err != nil {
				return err
			}
			in, refusal := sshx.Inspect(c.Context, target, app.QuietSSHOptions(cfg))
			if len(in.Hosts) == 0 {
				return refusal
			}
			e := explain.New(in, refusal, cfg, c.Bool("all"))
			if c.Bool("json") {
				if refusal != nil {
					e.Code = string(failureCode(refusal))
				}
				err = printJSON(c.App.Writer, e)
			} else {
				err = e.Print(c.App.Writer)
			}
			if err == nil && refusal != nil {
				return fmt.Errorf("explain: %s cannot be reached with this configuration", target.Host)
			}
			return err
		},
	}
}
