package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"ptyctl/control"
	"ptyctl/internal/app"
	"ptyctl/internal/attach"
	"ptyctl/internal/direct"
	"ptyctl/internal/tty"
)

func openCommand() *cli.Command {
	return &cli.Command{
		Name: "open", Usage: "have a terminal on a host, through what an agent has; ctrl-] closes it",
		ArgsUsage: "[USER@]HOST[:PORT]",
		Flags: append(hostFlags(),
			&cli.BoolFlag{Name: "raw", Usage: "show the bytes as they are: they may do anything to your terminal"},
		),
		Action: runOpen,
	}
}

func runOpen(c *cli.Context) error {
	args, err := arguments(c, 1, 1)
	if err != nil {
		return err
	}
	if !tty.IsTerminal(os.Stdin) || !tty.IsTerminal(os.Stdout) {
		return usageError{
			errors.New("open is for a person at a terminal; for a single command, call ptyctl exec HOST -- COMMAND"),
		}
	}
	host, err := hostAt(c, args[0])
	if err != nil {
		return err
	}
	host.PTY = &direct.PTY{Term: os.Getenv("TERM")}
	host.PTY.Cols, host.PTY.Rows = tty.Size(os.Stdout)
	return atHost(c, host, func(_ *app.App, _ *control.Client, at *attach.Attachment) error {
		ended, err := at.Type(c.Context, attach.Options{Out: c.App.Writer, Raw: c.Bool("raw")})
		if err != nil || !ended { // not ended: the person has left, or a signal came
			return err
		}
		now, err := at.Status(c.Context)
		if err != nil {
			return err
		}
		end := now.Session
		if end.ExitCode == nil && end.ExitSignal == "" && end.EndReason != "" {
			fmt.Fprintf(os.Stderr, "ptyctl: the session has ended: %s\n", tty.Printable(end.EndReason))
			return exitStatus{exitNoStatus}
		}
		return remoteStatus(end.ExitCode, end.ExitSignal)
	})
}
