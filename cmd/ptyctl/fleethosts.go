package main

import (
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"ptyctl/fleet/nodes"
	"ptyctl/internal/app"
	"ptyctl/internal/fleethosts"
	"ptyctl/internal/tty"
)

func fleetHostsCommand() *cli.Command {
	return &cli.Command{
		Name: "hosts", Usage: "show the hosts that an expression means, and where each is written down",
		ArgsUsage: "[HOSTS...]",
		Description: "HOSTS are names, nodesets such as web[01-20], @group, patterns such as web* and !exclude.\n" +
			"Nothing is sent to them. Without HOSTS the sources are shown, with their groups and what has no effect.\n" +
			"ptyctl fleet hosts '@web' '!web07'",
		Flags: []cli.Flag{configFlag(), &cli.BoolFlag{Name: "json", Usage: "print JSON"}},
		Action: func(c *cli.Context) error {
			cfg, err := fileConfig(c)
			if err != nil {
				return err
			}
			book := app.HostSources(cfg).Read(c.Context)
			var sel *nodes.Selection
			if c.NArg() > 0 {
				if sel, err = book.Select(c.Args().Slice(), nodes.DefaultMost); err != nil {
					return usageError{fmt.Errorf("fleet hosts: %w", err)}
				}
			}
			listing := fleethosts.New(book, sel)
			if c.Bool("json") {
				return printJSON(c.App.Writer, listing)
			}
			width := tty.TableWidth
			if tty.IsTerminal(os.Stdout) {
				width, _ = tty.Size(os.Stdout)
			}
			return listing.Print(c.App.Writer, width)
		},
	}
}
