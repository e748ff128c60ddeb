package main

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"

	"ptyctl/internal/attach"
	"ptyctl/internal/client"
	"ptyctl/internal/tmux"
	"ptyctl/internal/tty"
)

func attachCommand() *cli.Command {
	return &cli.Command{
		Name: "attach", Usage: "watch a session as it happens; ctrl-] leaves",
		ArgsUsage: "ID",
		Flags: append(
			reachFlags(),
			&cli.BoolFlag{
				Name: "take",
				Usage: "take the terminal from the agent and type into it, until ctrl-] gives it back " +
					"(control_mode readwrite)",
			},
			&cli.BoolFlag{Name: "raw", Usage: "show the bytes as they are: they may do anything to your terminal"},
			&cli.BoolFlag{
				Name: "pane",
				Usage: "in the window that ptyctl bridge tmux makes: give it the size of the session's terminal, " +
					"and show all that is held",
			},
		),
		Action: withSession(runAttach),
	}
}

func runAttach(c *cli.Context, s client.Session) error {
	ctx, o := c.Context, attach.Options{Out: c.App.Writer, Raw: c.Bool("raw")}
	if c.Bool("pane") {
		if o.In = tmux.Here(); o.In == nil {
			return usageError{errors.New("--pane is for the window that ptyctl bridge tmux makes, and this is none")}
		}
		if o.Raw {
			return usageError{errors.New("--raw and --pane exclude each other")}
		}
		var stop func()
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGHUP) // tmux takes the window away
		defer stop()
	}
	if !c.Bool("take") {
		return attach.Watch(ctx, s, o)
	}
	if !tty.IsTerminal(os.Stdin) {
		return usageError{
			errors.New("--take is for a person who types, and stdin is no terminal; a program uses ptyctl call"),
		}
	}
	return attach.Take(ctx, s, attach.NewPerson(os.Stdin, c.App.ErrWriter), o)
}
