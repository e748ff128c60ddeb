package commands

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"ptyctl/internal/cli"

	"ptyctl/control"
	"ptyctl/internal/app"
	"ptyctl/internal/attach"
	"ptyctl/internal/direct"
	"ptyctl/term"
)

// maxInput bounds the input of exec --stdin: it is one argument of a call.
const maxInput = 4 << 20

func execCommand() *cli.Command {
	return &cli.Command{
		Name: "exec", Usage: "run a command on a host, through what an agent has; its exit status is ours",
		ArgsUsage: "[USER@]HOST[:PORT] -- COMMAND...",
		Flags: append(
			hostFlags(),
			&cli.StringFlag{
				Name: "lane",
				Usage: "one of " + strings.Join(lanes, ", ") + "; channel: beside a terminal, terminal: typed into one; " +
					"default auto",
			},
			&cli.DurationFlag{
				Name:  "timeout",
				Usage: "stop the command after this `TIME`, such as 90s; default as configured for calls that ask for the longest",
			},
			&cli.BoolFlag{
				Name: "argv",
				Usage: "pass the words of the command on as they are, quoted for the shell there, " +
					"which otherwise reads them as one line",
			},
			&cli.BoolFlag{Name: "stdin", Usage: "send stdin to the command, up to 4 MiB"},
			&cli.StringFlag{
				Name:  "sudo-secret",
				Usage: "have sudo run the command, with this secret (`NAME`) of the configuration for its password",
			},
			&cli.StringFlag{
				Name:  "stdin-secret",
				Usage: "the command reads this secret (`NAME`) as the first line of its input",
			},
			&cli.BoolFlag{
				Name: "json",
				Usage: "print one JSON object at the end: stdout, stderr, exit_code and the rest of what an agent gets; " +
					"the exit status stays",
			},
		),
		Action: runExec,
	}
}

func runExec(c *cli.Context) error {
	where, words, err := hostAndCommand(c)
	if err != nil {
		return err
	}
	host, err := hostAt(c, where)
	if err != nil {
		return err
	}
	command := direct.Command{
		Lane: c.String("lane"), Timeout: c.Duration("timeout"),
		SudoSecret: c.String("sudo-secret"), StdinSecret: c.String("stdin-secret"),
	}
	if err := checkExec(host.Protocol, command, words); err != nil {
		return usageError{err}
	}
	// An unused terminal would start a shell, or the command that the account has in its place.
	host.CommandsOnly = host.Protocol == "ssh" && command.Lane != "terminal" && host.Profile == ""
	if c.Bool("argv") {
		command.Argv = words
	} else { // joined by blanks, for the shell there to read, as ssh(1) does it
		command.Line = strings.Join(words, " ")
	}
	if c.Bool("stdin") {
		if command.Stdin, err = io.ReadAll(io.LimitReader(os.Stdin, maxInput+1)); err != nil {
			return err
		}
		if len(command.Stdin) > maxInput {
			return term.Errorf(term.LimitExceeded, "there is more on stdin than exec takes (4 MiB)")
		}
	}
	return atHost(c, host, func(a *app.App, on *control.Client, at *attach.Attachment) error {
		if command.Timeout <= 0 {
			command.Timeout = a.Config().Limits.MaxExecTimeout
		}
		return execAt(c, on, at, command)
	})
}

// execAt runs the command in an open session, and returns its exit status as an error.
func execAt(c *cli.Context, on *control.Client, at *attach.Attachment, command direct.Command) error {
	var end direct.End
	var err error
	if c.Bool("json") {
		var result json.RawMessage
		if end, result, err = direct.Result(c.Context, on, at.ID, command); err == nil {
			err = printJSON(c.App.Writer, result)
		}
	} else {
		end, err = direct.Exec(c.Context, on, at.ID, command, c.App.Writer, c.App.ErrWriter)
	}
	switch {
	case errors.Is(err, direct.ErrInterrupted):
		fmt.Fprintln(os.Stderr, "ptyctl: interrupted; the command was told to stop, and may go on there")
		return exitStatus{exitInterrupted}
	case errors.As(err, new(*direct.OutputError)):
		return err
	case err != nil:
		return notReached(c, err)
	case end.TimedOut:
		text := "ptyctl: the command took too long (--timeout); it was told to stop, and may go on there"
		if end.Killed == "yes" {
			text = "ptyctl: the command took too long and was stopped (--timeout)"
		}
		fmt.Fprintln(os.Stderr, text)
		return exitStatus{124} // as timeout(1)
	}
	return remoteStatus(end.ExitCode, end.ExitSignal)
}

// lanes are the values of --lane.
var lanes = []string{"auto", "channel", "terminal"}

// checkExec refuses a command that no call could run, before a connection is made and a password asked.
func checkExec(protocol string, command direct.Command, words []string) error {
	switch {
	case command.Lane != "" && !slices.Contains(lanes, command.Lane):
		return fmt.Errorf("--lane is %q; give channel, terminal or auto", command.Lane)
	case command.Lane == "channel" && protocol == "telnet":
		return errors.New("--lane channel needs SSH: Telnet has nothing beside the terminal; leave --lane out")
	case command.Timeout < 0:
		return fmt.Errorf("--timeout is %v; give a time such as 30s", command.Timeout)
	case strings.TrimSpace(words[0]) == "":
		return errors.New("the command is empty; name a program after --")
	}
	return nil
}

// hostAndCommand reads HOST -- COMMAND.
func hostAndCommand(c *cli.Context) (host string, command []string, err error) {
	args := c.Args()
	switch {
	case len(args) > 1 && args[1] == "--":
		args = append(args[:1:1], args[2:]...)
	case len(args) > 1 && strings.HasPrefix(args[1], "-"):
		return "", nil, misplaced(c, args)
	}
	if len(args) < 2 {
		return "", nil, usageError{
			fmt.Errorf(
				"exec needs a host and a command; call it as %s [flags] %s",
				c.Command.HelpName,
				c.Command.ArgsUsage,
			),
		}
	}
	return args[0], args[1:], nil
}
