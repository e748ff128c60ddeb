package main

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
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(c.Context, syscall.SIGHUP) // the terminal is gone: clean up
			defer stop()
			ctx, cancel := context.WithTimeout(ctx, demo.Limit)
			defer cancel()
			return demo.Run(ctx, c.App.Writer, version())
		},
	}
}
