package commands

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"ptyctl/internal/cli"

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
		if !o.Raw && !tty.IsTerminal(os.Stdin) { // stdout is in no raw mode then
			o.Out = tty.WithoutReturns(o.Out, os.Stdout)
		}
		return attach.Watch(ctx, s, o)
	}
	if !tty.IsTerminal(os.Stdin) {
		return usageError{
			errors.New("--take is for a person who types, and stdin is no terminal; a program uses ptyctl call"),
		}
	}
	return attach.Take(ctx, s, attach.NewPerson(os.Stdin, c.App.ErrWriter), o)
}

func tailCommand() *cli.Command {
	return &cli.Command{
		Name: "tail", Usage: "print the end of a session's output",
		ArgsUsage: "ID",
		Flags: append(reachFlags(),
			&cli.IntFlag{Name: "n", Value: 20, Usage: "how many `LINES`"},
			&cli.BoolFlag{Name: "f", Usage: "go on with what comes, until the session ends or ctrl-c"},
			&cli.BoolFlag{Name: "raw", Usage: "print the bytes as they are: they may do anything to your terminal"},
		),
		Action: func(c *cli.Context) error {
			if c.Int("n") < 0 {
				return usageError{fmt.Errorf("-n takes a number of lines, not %d", c.Int("n"))}
			}
			return withSession(runTail)(c)
		},
	}
}

func runTail(c *cli.Context, s client.Session) error {
	out := c.App.Writer
	if !c.Bool("raw") {
		out = tty.WithoutReturns(out, os.Stdout)
	}
	return attach.Tail(c.Context, s, attach.TailOptions{
		Out: out, Lines: c.Int("n"), Follow: c.Bool("f"), Raw: c.Bool("raw"),
	})
}

func screenshotCommand() *cli.Command {
	return &cli.Command{
		Name: "screenshot", Usage: "write a picture of a session's screen, as PNG, or the screen as text",
		ArgsUsage: "ID",
		Flags: append(reachFlags(),
			&cli.StringFlag{Name: "o", Usage: "write it to this `FILE`, not to stdout"},
			&cli.BoolFlag{Name: "text", Usage: "numbered rows, as an agent reads them, in place of a picture"},
			&cli.StringFlag{Name: "theme", Usage: "the `COLOURS`, one of dark, light, xterm"},
		),
		Action: func(c *cli.Context) error {
			switch {
			case c.Bool("text") && c.String("theme") != "":
				return usageError{errors.New("--theme is for a picture, not for --text; leave one of them out")}
			case !c.Bool("text") && c.String("o") == "" && tty.IsTerminal(os.Stdout):
				return usageError{errors.New("a terminal shows no picture; give -o FILE or --text, or send the output to a file")}
			}
			return withSession(runScreenshot)(c)
		},
	}
}

// runScreenshot writes a file that only its owner may read: the screen may show text that others must not see.
func runScreenshot(c *cli.Context, s client.Session) error {
	shot := func() ([]byte, error) { return s.Screenshot(c.Context, c.String("theme")) }
	if c.Bool("text") {
		shot = func() ([]byte, error) { return s.ScreenText(c.Context) }
	}
	data, err := shot()
	if err != nil {
		return err
	}
	if file := c.String("o"); file != "" {
		return os.WriteFile(file, data, 0o600)
	}
	_, err = c.App.Writer.Write(data)
	return err
}
