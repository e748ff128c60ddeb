package commands

import (
	"context"
	"os/signal"
	"syscall"

	"ptyctl/internal/cli"

	"ptyctl/internal/demo"
)

func demoCommand() *cli.Command {
	return &cli.Command{
		Name:  "demo",
		Usage: "show ptyctl at work: an SSH server inside this process, ptyctl as its own MCP server",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "tour", Usage: "more of it: an editor's screen, a login with a code, many hosts, a secret, the watch page"},
			&cli.BoolFlag{Name: "mcp", Usage: "print how to try the same from an MCP client"},
		},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(c.Context, syscall.SIGHUP) // the terminal is gone: clean up
			defer stop()
			ctx, cancel := context.WithTimeout(ctx, demo.Limit)
			defer cancel()
			switch {
			case c.Bool("mcp"):
				return demo.FromClient(c.App.Writer)
			case c.Bool("tour"):
				return demo.Tour(ctx, c.App.Writer, c.App.Version)
			}
			return demo.Run(ctx, c.App.Writer, c.App.Version)
		},
	}
}
