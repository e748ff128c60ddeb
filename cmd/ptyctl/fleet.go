package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ptyctl/internal/fleetrun"
	"ptyctl/internal/tty"
)

func fleetCommand() *cli.Command {
	return &cli.Command{
		Name: "fleet", Usage: "run one command on many hosts; equal answers are shown once",
		Subcommands: []*cli.Command{
			{
				Name: "run", Usage: "run a command on many hosts",
				ArgsUsage: "HOSTS... -- COMMAND...",
				Description: "HOSTS are names, nodesets such as web[01-20], @group and !exclude. The status is 0 if the command has\n" +
					"ended with 0 on all hosts, 1 if not, and 255 if nothing was run. No login asks a question.\n" +
					"ptyctl fleet run --canary 1 --batch 25% --stop-on-failures 1 'web[01-20]' -- systemctl restart app",
				Flags:  fleetFlags(),
				Action: func(c *cli.Context) error { return runFleet(c, false) },
			},
			{
				Name: "diff", Usage: "run a command on many hosts, and show how the answers differ",
				ArgsUsage: "HOSTS... -- COMMAND...",
				Description: "Of the answer that most hosts give nothing is shown, of the others their difference from it. The status\n" +
					"is 0 if all hosts answer alike, 1 if not, and 255 if nothing was run.",
				Flags:  fleetFlags(),
				Action: func(c *cli.Context) error { return runFleet(c, true) },
			},
			fleetHostsCommand(),
		},
	}
}

func fleetFlags() []cli.Flag {
	return []cli.Flag{
		configFlag(),
		&cli.IntFlag{Name: "canary", Usage: "run on this many hosts first; if one fails, no other begins"},
		&cli.StringFlag{Name: "batch", Usage: "run on so many hosts, then on as many more: `N` or N%"},
		&cli.StringFlag{Name: "stop-on-failures", Usage: "begin no other host after so many have failed: `N` or N%"},
		&cli.IntFlag{Name: "max-parallel", Usage: "hosts at a time; default as configured (fleet.max_parallel)"},
		&cli.DurationFlag{Name: "timeout", Usage: "stop the command on a host after this `TIME`, such as 90s; default as configured"},
		&cli.DurationFlag{Name: "deadline", Usage: "stop all after this `TIME`; default 1h"},
		&cli.BoolFlag{Name: "volatile", Usage: "mask names, addresses, times and process ids before answers are compared"},
		&cli.BoolFlag{Name: "skip-refused", Usage: "leave out hosts that the rules refuse; otherwise one of them stops all"},
		&cli.BoolFlag{Name: "argv", Usage: "pass the words of the command on as they are, quoted for the shell of each host"},
		&cli.BoolFlag{Name: "json", Usage: "print one JSON object at the end, as an agent gets it"},
	}
}

// runFleet runs a command on many hosts, with a ptyctl within this process.
func runFleet(c *cli.Context, differences bool) (err error) {
	hosts, words, err := hostsAndCommand(c)
	if err != nil {
		return err
	}
	call := fleetrun.Call{
		Action: "run", Hosts: hosts, Canary: c.Int("canary"), Batch: c.String("batch"), StopOnFailures: c.String("stop-on-failures"),
		MaxParallel: c.Int("max-parallel"), Timeout: c.Duration("timeout").Milliseconds(),
		Deadline: c.Duration("deadline").Milliseconds(),
	}
	if c.Bool("argv") {
		call.Argv = words
	} else {
		call.Cmd = strings.Join(words, " ")
	}
	if c.Bool("volatile") {
		call.Normalize = "volatile"
	}
	if c.Bool("skip-refused") {
		call.OnRefused = "skip"
	}
	if call.Canary < 0 || call.MaxParallel < 0 || call.Timeout < 0 || call.Deadline < 0 {
		return usageError{errors.New("a number or a time is negative; give one from 0")}
	}
	c.Context = asPerson(c.Context)
	a, closeAll, err := newApp(c, "core", "fleet")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	on, err := a.Client(context.WithoutCancel(c.Context), 0) // after ctrl-c it cancels the run
	if err != nil {
		return err
	}
	defer on.Close()
	o := fleetrun.Options{Out: c.App.Writer, Differences: differences, JSON: c.Bool("json")}
	if tty.IsTerminal(os.Stderr) {
		o.Bar = os.Stderr
	}
	end, err := fleetrun.Run(c.Context, on, call, o)
	switch {
	case err != nil && c.Err() == nil:
		return failureToReach{"fleet " + c.Command.Name, err}
	case err != nil, end.Interrupted:
		fmt.Fprintln(os.Stderr, "ptyctl: interrupted; the commands were told to stop, and may go on there")
		return exitStatus{exitInterrupted}
	case differences && !end.Alike, !differences && !end.OK:
		return exitStatus{1}
	}
	return nil
}

// hostsAndCommand reads HOSTS... -- COMMAND...
func hostsAndCommand(c *cli.Context) (hosts, command []string, err error) {
	args := c.Args().Slice()
	at := slices.Index(args, "--")
	switch {
	case at > 0:
		hosts, command = args[:at], args[at+1:]
	case at < 0 && len(args) > 1: // without -- the first is the hosts
		hosts, command = args[:1], args[1:]
	}
	if slices.ContainsFunc(hosts, isFlag) {
		return nil, nil, misplaced(c, args)
	}
	if len(hosts) == 0 || len(command) == 0 || strings.TrimSpace(command[0]) == "" {
		return nil, nil, usageError{fmt.Errorf(
			"%s needs hosts and a command; call it as %s [flags] %s", c.Command.Name, c.Command.HelpName, c.Command.ArgsUsage,
		)}
	}
	return hosts, command, nil
}
