// Command ptyctl gives AI agents, and the engineers who run them, real terminals over SSH: it is an MCP server.
//
//	ptyctl mcp --transport stdio     what an MCP client starts
//	ptyctl demo                      the whole of it, shown on this machine
//	ptyctl profiles                  the device families that it knows
//	ptyctl audit verify              whether an audit log was tampered with
//	ptyctl policy check -- COMMAND   what the operator's rules say of a command
//	ptyctl version
//
// It ends with status 0 when its client has closed the input or it is told to stop, 1 when something failed, and 2
// when it was called wrongly. An answer that the client did not take is a failure.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"
)

func main() {
	// A client that closed its end must not kill us before every session is closed.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := newApp().RunContext(ctx, os.Args)
	stop()
	os.Exit(exitCode(err))
}

// A usageError is a wrong call; its text says how to call rightly.
type usageError struct{ error }

func exitCode(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.As(err, new(usageError)), errors.As(err, new(cli.ExitCoder)): // the latter: help for an unknown command
		fmt.Fprintf(os.Stderr, "ptyctl: %v\n", err)
		return 2
	default:
		fmt.Fprintf(os.Stderr, "ptyctl: %v\n", err)
		return 1
	}
}

func newApp() *cli.App {
	app := &cli.App{
		Name:                   "ptyctl",
		Usage:                  "real terminals for AI agents, over MCP",
		Version:                version(),
		HideVersion:            true,
		UseShortOptionHandling: false,
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			return cli.ShowAppHelp(c)
		},
		Commands:       []*cli.Command{mcpCommand(), demoCommand(), profilesCommand(), auditCommand(), policyCommand(), versionCommand()},
		ExitErrHandler: func(*cli.Context, error) {}, // main decides
		OnUsageError:   wrongFlag,
	}
	// Otherwise the library prints help to stdout, where a client expects the protocol.
	for _, c := range app.Commands {
		c.OnUsageError, c.HideHelpCommand = wrongFlag, true
	}
	return app
}

func wrongFlag(c *cli.Context, err error, _ bool) error {
	return usageError{fmt.Errorf("%w; see %s --help", err, c.Command.HelpName)}
}

func versionCommand() *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "print the version",
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			_, err := fmt.Fprintln(c.App.Writer, "ptyctl "+version())
			return err
		},
	}
}

// noArguments refuses what is left after the flags: the flag library silently swallows a flag that follows a
// positional argument, and a mistyped command.
func noArguments(c *cli.Context) error {
	if c.NArg() == 0 {
		return nil
	}
	arg := c.Args().First()
	if c.Command == nil || c.Command.Name == "" || c.Command.Name == c.App.Name {
		names := make([]string, len(c.App.Commands))
		for i, cmd := range c.App.Commands {
			names[i] = cmd.Name
		}
		return usageError{fmt.Errorf("there is no command %q; the commands are %s", arg, strings.Join(names, ", "))}
	}
	return usageError{fmt.Errorf("%s takes no argument %q; see ptyctl %s --help", c.Command.Name, arg, c.Command.Name)}
}
