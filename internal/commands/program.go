// Package commands is the command line of ptyctl, and of programs that extend it: a Program holds the parts that one of
// them has of its own.
package commands

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"ptyctl/internal/cli"

	"ptyctl/config"
	"ptyctl/internal/app"
	"ptyctl/internal/tty"
	"ptyctl/ptyx"
	"ptyctl/ptyx/protect"
)

// A Program is ptyctl, or a program that is the same and more.
type Program struct {
	Name    string // as it is called on a command line
	Usage   string // its description, in one line
	Release string // its version, for example "v1.2.3"; "": the version that the Go tool recorded from the source

	// Commands are added to those of ptyctl, before the ones about the program itself. One with the name of a ptyctl
	// command replaces it. Config, Arguments and Status help to write them.
	Commands []*cli.Command

	// Cluster joins the cluster that a configuration names; the App of the server closes it. Nil: the program is for one
	// machine, and refuses to serve such a configuration.
	Cluster func(ctx context.Context, cfg config.Config, log *slog.Logger, version string) (app.Cluster, error)
}

// Main runs the command line of this process, and returns its exit status (failure.go). It takes the process over: its
// signals, its environment and its streams.
func Main(p Program) int {
	ptyx.EnableLimits()
	protectSecrets()
	// A client that closed its end must not kill us before every session is closed. Ignored, the signal would be
	// ignored by every program that we start, too.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	line, out := newCommandLine(p), &output{Writer: os.Stdout}
	line.Writer = out
	err := line.RunContext(ctx, ordered(line, os.Args))
	stop()
	err = errors.Join(err, out.failure(line, os.Args, err))
	return p.exitCode(err)
}

// unprotected holds the errors of protectSecrets. A server logs it; no command depends on it.
var unprotected error

// protectSecrets keeps secrets from the other programs of this user, also from those that this process starts.
func protectSecrets() {
	unprotected = errors.Join(config.TakeSecrets(), protect.Memory()) // in this order: /proc/self is still ours
}

// A usageError is a wrong call; its text says how to call rightly.
type usageError struct{ error }

func (p Program) exitCode(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.As(err, new(exitStatus)): // another program's status, already reported
		status, _ := errors.AsType[exitStatus](err)
		return status.code
	case errors.As(err, new(failureToReach)):
		p.complain(err)
		return exitNotReached
	case errors.As(err, new(usageError)), errors.As(err, new(*app.ConfigError)), errors.Is(err, cli.ErrNoTopic):
		p.complain(err)
		return 2
	default:
		p.complain(err)
		return 1
	}
}

// complain reports an error. Parts of it may be a server's words.
func (p Program) complain(err error) {
	name := p.Name + ":"
	if errors.As(err, new(failureToReach)) { // its text begins with the name of the command
		name = p.Name
	}
	fmt.Fprintf(os.Stderr, "%s %s\n", name, tty.Plain(err.Error()))
}

func newCommandLine(p Program) *cli.App {
	return &cli.App{
		Name:    p.Name,
		Usage:   p.Usage,
		Version: readBuild(p.Release).Version,
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			return cli.ShowHelp(c)
		},
		Commands: slices.Concat(p.without([]*cli.Command{
			mcpCommand(p),
			daemonCommand(p),
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
			configCommand(p),
			profilesCommand(),
			auditCommand(),
			recordingsCommand(),
			secretCommand(),
			tokensCommand(),
			replayCommand(),
			policyCommand(),
			setupCommand(),
			demoCommand(),
		}), p.Commands, []*cli.Command{
			completionCommand(),
			completeCommand(),
			manCommand(),
			versionCommand(),
			verifyCommand(),
		}),
		WrongFlag: wrongFlag,
	}
}

// without returns the commands that p has no others for.
func (p Program) without(all []*cli.Command) []*cli.Command {
	return slices.DeleteFunc(all, func(c *cli.Command) bool {
		return slices.ContainsFunc(p.Commands, func(other *cli.Command) bool { return other.Name == c.Name })
	})
}

// ConfigFlag is the flag of a Program's own command for the file that Config reads.
func ConfigFlag() cli.Flag { return configFlag() }

// Config reads the configuration for a command of a Program. A wrong one is a wrong call.
func Config(c *cli.Context) (config.Config, error) { return fileConfig(c) }

// Arguments returns the arguments of a Program's own command. Their number must be from least to most; any other number
// is a wrong call.
func Arguments(c *cli.Context, least, most int) ([]string, error) { return arguments(c, least, most) }

// Status returns ptyctl's command status, for a Program with a status command that does more.
func Status() *cli.Command { return statusCommand() }

// servable refuses a configuration that only another program can serve. Served by this one, its consoles would not be
// kept apart from those of the other nodes.
func (p Program) servable(cfg config.Config) error {
	if len(cfg.Cluster.Servers) == 0 || p.Cluster != nil {
		return nil
	}
	return usageError{fmt.Errorf("%s: cluster.servers is set, so that this is the configuration of a node of a cluster: "+
		"run ptyctl-cluster with it, or leave cluster.servers out to serve this machine alone", cfg.Origin("cluster.servers"))}
}

// join joins the cluster of a configuration; nil: it names none.
func (p Program) join(ctx context.Context, cfg config.Config, log *slog.Logger, version string) (app.Cluster, error) {
	if err := p.servable(cfg); err != nil || len(cfg.Cluster.Servers) == 0 {
		return nil, err
	}
	return p.Cluster(ctx, cfg, log, version)
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
		err = unknownFlag(c.Command, "-"+strings.Repeat("-", min(len(name)-1, 1))+name)
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
