package main

import (
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"ptyctl/internal/app"
	"ptyctl/internal/explain"
	"ptyctl/sshx"
)

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
