// Command ptyctl gives AI agents, and the engineers who run them, real terminals over SSH, Telnet and on their
// own machine: it is an MCP server.
//
//	ptyctl mcp --transport stdio     what an MCP client starts
//	ptyctl daemon status|stop|reload  the process that keeps the sessions of ptyctl mcp --daemon
//	ptyctl config check|show         the errors in the configuration; the source of each value
//	ptyctl explain HOST              how a host would be reached
//	ptyctl setup [CLIENT]            an MCP client's own file, so that the client starts ptyctl
//	ptyctl doctor [HOST]             why something does not work, step by step
//	ptyctl demo                      the whole of it, shown on this machine
//	ptyctl profiles                  the device families that it knows
//	ptyctl audit verify              whether an audit log, or a recording that it knows, was tampered with
//	ptyctl recordings | replay       recordings of sessions: listed, searched, exported, shown
//	ptyctl tokens add|list|revoke    the tokens of the HTTP transport
//	ptyctl policy check -- COMMAND   the verdict of the operator's rules on a command
//	ptyctl policy test FILE          a comparison of the rules' verdicts with a file of expected ones
//	ptyctl version
//	ptyctl verify FILE               whether a file of a release is what the maintainer has signed
//	ptyctl sessions | status | tail | screenshot | watch | attach | bridge | answer | reopen | call
//	                       watch a running one, and step in
//	ptyctl fleet hosts EXPRESSION  the hosts that it means
//	ptyctl open | exec     a terminal or a command on a host, as an agent has it
//	ptyctl forward HOST TO connections to an address that a host reaches
//	ptyctl fleet run|diff  a command on many hosts
//
// As an MCP server it reads its configuration again on SIGHUP. It exits with status 0 when its client has closed the
// input or on a signal to stop, with 1 after a failure, and with 2 after a wrong command line; exec and open pass on
// the status of the remote command (failure.go). An answer that the client did not accept is a failure.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"ptyctl/internal/cli"

	"ptyctl/config"
	"ptyctl/internal/app"
	"ptyctl/internal/tty"
	"ptyctl/ptyx"
	"ptyctl/ptyx/protect"
)

func main() {
	ptyx.EnableLimits()
	protectSecrets()
	// A client that closed its end must not kill us before every session is closed. Ignored, the signal would be
	// ignored by every program that we start, too.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	line, out := newCommandLine(), &output{Writer: os.Stdout}
	line.Writer = out
	err := line.RunContext(ctx, ordered(line, os.Args))
	stop()
	err = errors.Join(err, out.failure(line, os.Args, err))
	os.Exit(exitCode(err))
}

// unprotected holds the errors of protectSecrets. A server logs it; no command depends on it.
var unprotected error

// protectSecrets keeps secrets from the other programs of this user, also from those that this process starts.
func protectSecrets() {
	unprotected = errors.Join(config.TakeSecrets(), protect.Memory()) // in this order: /proc/self is still ours
}

// A usageError is a wrong call; its text says how to call rightly.
type usageError struct{ error }

func exitCode(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.As(err, new(exitStatus)): // another program's status, already reported
		status, _ := errors.AsType[exitStatus](err)
		return status.code
	case errors.As(err, new(failureToReach)):
		complain(err)
		return exitNotReached
	case errors.As(err, new(usageError)), errors.As(err, new(*app.ConfigError)), errors.Is(err, cli.ErrNoTopic):
		complain(err)
		return 2
	default:
		complain(err)
		return 1
	}
}

// complain reports an error. Parts of it may be a server's words.
func complain(err error) {
	name := "ptyctl:"
	if errors.As(err, new(failureToReach)) { // its text begins with the name of the command
		name = "ptyctl"
	}
	fmt.Fprintf(os.Stderr, "%s %s\n", name, tty.Plain(err.Error()))
}

func newCommandLine() *cli.App {
	app := &cli.App{
		Name:    "ptyctl",
		Usage:   "real terminals for AI agents, over MCP",
		Version: version(),
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			return cli.ShowHelp(c)
		},
		Commands: []*cli.Command{
			mcpCommand(),
			daemonCommand(),
			sessionsCommand(),
			statusCommand(),
			tailCommand(),
			screenshotCommand(),
			watchCommand(),
			attachCommand(),
			bridgeCommand(),
			answerCommand(),
			reopenCommand(),
			snapshotCommand(),
			diffCommand(),
			pasteCommand(),
			openCommand(),
			execCommand(),
			forwardCommand(),
			group(fleetCommand()),
			callCommand(),
			explainCommand(),
			doctorCommand(),
			configCommand(),
			profilesCommand(),
			auditCommand(),
			recordingsCommand(),
			secretCommand(),
			tokensCommand(),
			replayCommand(),
			policyCommand(),
			setupCommand(),
			demoCommand(),
			completionCommand(),
			completeCommand(),
			manCommand(),
			versionCommand(),
			verifyCommand(),
		},
		WrongFlag: wrongFlag,
	}
	return app
}

// group makes a command that only has commands of its own.
func group(c *cli.Command) *cli.Command {
	c.Action = func(ctx *cli.Context) error {
		if ctx.NArg() > 0 {
			return usageError{fmt.Errorf("%s has no command %q; see ptyctl %[1]s --help", c.Name, ctx.Args().First())}
		}
		return cli.ShowHelp(ctx)
	}
	return c
}

// wrongFlag makes the error of a line with a wrong flag.
func wrongFlag(c *cli.Context, err error) error {
	if name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); ok { // it has lost a dash
		err = fmt.Errorf("%s has no flag %s", c.Command.HelpName, "-"+strings.Repeat("-", min(len(name)-1, 1))+name)
	}
	return usageError{fmt.Errorf("%w; see %s --help", err, c.Command.HelpName)}
}

// noArguments refuses every argument, of the program itself a mistyped command.
func noArguments(c *cli.Context) error {
	if c.NArg() > 0 && (c.Command == nil || c.Command.Name == "" || c.Command.Name == c.App.Name) {
		var names []string
		for _, cmd := range c.App.Commands {
			if !cmd.Hidden {
				names = append(names, cmd.Name)
			}
		}
		return usageError{
			fmt.Errorf("there is no command %q; the commands are %s", c.Args().First(), strings.Join(names, ", ")),
		}
	}
	_, err := arguments(c, 0, 0)
	return err
}
