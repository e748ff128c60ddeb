package commands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ptyctl/internal/cli"

	"ptyctl/control"
	"ptyctl/fleet/nodes"
	"ptyctl/fleet/saved"
	"ptyctl/internal/app"
	"ptyctl/internal/fleethosts"
	"ptyctl/internal/fleetrun"
	"ptyctl/internal/tty"
)

func fleetCommand() *cli.Command {
	return &cli.Command{
		Name: "fleet", Usage: "run one command on many hosts, or copy a file; equal answers are shown once",
		Subcommands: []*cli.Command{
			{
				Name: "run", Usage: "run a command on many hosts",
				ArgsUsage: "HOSTS... -- COMMAND...",
				Description: "HOSTS are names, nodesets such as web[01-20], @group and !exclude. The status is 0 if the command has\n" +
					"ended with 0 on all hosts, 1 if not, and 255 if nothing was run. No login asks a question.\n" +
					"ptyctl fleet run --canary 1 --batch 25% --stop-on-failures 1 'web[01-20]' -- systemctl restart app",
				Flags:  append(commandFlags(), saveFlag()),
				Action: func(c *cli.Context) error { return runFleet(c, false) },
			},
			{
				Name: "diff", Usage: "run a command on many hosts, and show how the answers differ, or what has changed",
				ArgsUsage: "HOSTS... -- COMMAND...",
				Description: "Of the answer that most hosts give nothing is shown, of the others their difference from it. The status\n" +
					"is 0 if all hosts answer alike, 1 if not, and 255 if nothing was run.\n\n" +
					"With --before the answer of each host is compared with the one that --save has kept: the status is 0 if\n" +
					"none has changed. With --after, too, two files are compared, and nothing is run.\n" +
					"ptyctl fleet run --save before.json @web -- rpm -qa\n" +
					"ptyctl fleet diff --before before.json @web -- rpm -qa",
				Flags: append(
					commandFlags(), saveFlag(),
					&cli.StringFlag{Name: "before", Usage: "compare with the answers in this `FILE`, which --save has written"},
					&cli.StringFlag{Name: "after", Usage: "compare the answers in this `FILE` with those of --before, and run nothing"},
				),
				Action: diffFleet,
			},
			fleetCopyCommand(), fleetCollectCommand(),
			fleetHostsCommand(),
		},
	}
}

// commandFlags are those of a command on many hosts.
func commandFlags() []cli.Flag {
	return append(
		fleetFlags("the command", "as configured"),
		&cli.BoolFlag{Name: "volatile", Usage: "mask names, addresses, times and process ids before answers are compared"},
		&cli.BoolFlag{Name: "argv", Usage: "pass the words of the command on as they are, quoted for the shell of each host"},
	)
}

// fleetFlags are those of all that is done on many hosts.
func fleetFlags(what, timeout string) []cli.Flag {
	return []cli.Flag{
		configFlag(),
		&cli.IntFlag{Name: "canary", Usage: "run on this many hosts first; if one fails, no other begins"},
		&cli.StringFlag{Name: "batch", Usage: "run on so many hosts, then on as many more: `N` or N%"},
		&cli.StringFlag{Name: "stop-on-failures", Usage: "begin no other host after so many have failed: `N` or N%"},
		&cli.IntFlag{Name: "max-parallel", Usage: "hosts at a time; default as configured (fleet.max_parallel)"},
		&cli.DurationFlag{Name: "timeout", Usage: "stop " + what + " on a host after this `TIME`, such as 90s; default " + timeout},
		&cli.DurationFlag{Name: "deadline", Usage: "stop all after this `TIME`; default 1h"},
		&cli.BoolFlag{Name: "skip-refused", Usage: "leave out hosts that the rules refuse; otherwise one of them stops all"},
		&cli.BoolFlag{Name: "json", Usage: "print one JSON object at the end, as an agent gets it"},
	}
}

// runFleet runs a command on many hosts, with a ptyctl within this process, and shows the answers.
func runFleet(c *cli.Context, differences bool) error {
	end, _, err := runOnHosts(c, fleetrun.Options{Differences: differences})
	switch {
	case err != nil:
		return err
	case differences && !end.Alike, !differences && !end.OK:
		return exitStatus{1}
	}
	return nil
}

// fleetOrder reads the flags of fleetFlags.
func fleetOrder(c *cli.Context) (fleetrun.Order, error) {
	o := fleetrun.Order{
		Canary: c.Int("canary"), Batch: c.String("batch"), StopOnFailures: c.String("stop-on-failures"),
		MaxParallel: c.Int("max-parallel"), Timeout: c.Duration("timeout").Milliseconds(),
		Deadline: c.Duration("deadline").Milliseconds(),
	}
	if c.Bool("skip-refused") {
		o.OnRefused = "skip"
	}
	if o.Canary < 0 || o.MaxParallel < 0 || o.Timeout < 0 || o.Deadline < 0 {
		return o, usageError{errors.New("a number or a time is negative; give one from 0")}
	}
	return o, nil
}

// runOnHosts runs the command of the command line, and returns the answers. It saves them if --save is given.
func runOnHosts(c *cli.Context, o fleetrun.Options) (end fleetrun.End, answers *saved.Answers, err error) {
	hosts, words, err := hostsAndCommand(c)
	if err != nil {
		return end, nil, err
	}
	order, err := fleetOrder(c)
	if err != nil {
		return end, nil, err
	}
	call := fleetrun.Call{Action: "run", Hosts: hosts, Order: order}
	if c.Bool("argv") {
		call.Argv = words
	} else {
		call.Cmd = strings.Join(words, " ")
	}
	if c.Bool("volatile") {
		call.Normalize = "volatile"
	}
	save, err := newSaving(c.String("save"))
	if err != nil {
		return end, nil, failureToReach{"fleet " + c.Command.Name, err}
	}
	defer func() { err = errors.Join(err, save.end(answers)) }()
	var unknown error
	end, err = onFleet(c, []string{"core", "fleet"}, func(a *app.App, on *control.Client, as fleetrun.Options) (fleetrun.End, error) {
		as.Differences, as.Quiet = o.Differences, o.Quiet
		end, err := fleetrun.Run(c.Context, on, call, as)
		if err == nil && !end.Interrupted {
			answers, unknown = a.FleetAnswers(c.Context, end.FleetID)
		}
		return end, err
	})
	switch {
	case err != nil:
		return end, nil, err
	case end.Interrupted:
		unsaved := ""
		if c.String("save") != "" {
			unsaved = "; no answer was saved"
		}
		fmt.Fprintln(os.Stderr, "ptyctl: interrupted; the commands were told to stop, and may go on there"+unsaved)
		return end, nil, exitStatus{exitInterrupted}
	case unknown != nil:
		return end, nil, fmt.Errorf("fleet %s: the answers are not known: %w", c.Command.Name, unknown)
	}
	return end, answers, nil
}

// onFleet calls do with a ptyctl within this process.
func onFleet(
	c *cli.Context, toolsets []string, do func(*app.App, *control.Client, fleetrun.Options) (fleetrun.End, error),
) (end fleetrun.End, err error) {
	c.Context = asPerson(c.Context)
	a, closeAll, err := newApp(c, toolsets...)
	if err != nil {
		return end, err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	on, err := a.Client(context.WithoutCancel(c.Context), 0) // after ctrl-c it cancels the run
	if err != nil {
		return end, err
	}
	defer on.Close()
	o := fleetrun.Options{Out: c.App.Writer, JSON: c.Bool("json")}
	if tty.IsTerminal(os.Stderr) {
		o.Bar = os.Stderr
	}
	end, err = do(a, on, o)
	switch {
	case err != nil && c.Err() == nil:
		return end, failureToReach{"fleet " + c.Command.Name, err}
	case err != nil:
		end.Interrupted = true
	}
	return end, nil
}

// hostsAndCommand reads HOSTS... -- COMMAND...
func hostsAndCommand(c *cli.Context) (hosts, command []string, err error) {
	args := c.Args()
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

func fleetHostsCommand() *cli.Command {
	return &cli.Command{
		Name: "hosts", Usage: "show the hosts that an expression means, and where each is written down",
		ArgsUsage: "[HOSTS...]",
		Description: "HOSTS are names, nodesets such as web[01-20], @group, patterns such as web* and !exclude.\n" +
			"Nothing is sent to them. Without HOSTS the sources are shown, with their groups and what has no effect.\n" +
			"ptyctl fleet hosts '@web' '!web07'",
		Flags: []cli.Flag{configFlag(), &cli.BoolFlag{Name: "json", Usage: "print JSON"}},
		Action: func(c *cli.Context) error {
			cfg, err := fileConfig(c)
			if err != nil {
				return err
			}
			book := app.HostSources(cfg).Read(c.Context)
			var sel *nodes.Selection
			if c.NArg() > 0 {
				if sel, err = book.Select(c.Args(), nodes.DefaultMost); err != nil {
					return usageError{fmt.Errorf("fleet hosts: %w", err)}
				}
			}
			listing := fleethosts.New(book, sel)
			if c.Bool("json") {
				return printJSON(c.App.Writer, listing)
			}
			width := tty.TableWidth
			if tty.IsTerminal(os.Stdout) {
				width, _ = tty.Size(os.Stdout)
			}
			return listing.Print(c.App.Writer, width)
		},
	}
}

func fleetCopyCommand() *cli.Command {
	return &cli.Command{
		Name: "copy", Usage: "copy a file to many hosts",
		ArgsUsage: "FILE HOSTS... PATH",
		Description: "PATH is the path on each host, or a folder there. Hosts that have the file already are left alone. The status is\n" +
			"0 if all hosts have it, 1 if not, and 255 if nothing was copied. HOSTS:/PATH is understood, too.\n" +
			"ptyctl fleet copy app.conf 'web[01-20]' /etc/app.conf",
		Flags:  append(fleetFlags("the copy", "10m"), verifyFlag()),
		Action: copyToFleet,
	}
}

func fleetCollectCommand() *cli.Command {
	return &cli.Command{
		Name: "collect", Usage: "copy a file of each of many hosts to a folder for each",
		ArgsUsage: "HOSTS... PATH FOLDER",
		Description: "The file comes to FOLDER/HOST/NAME. Hosts with equal files are shown as one. A file that is there, and differs, is\n" +
			"kept. The status is 0 if all files are there, 1 if not, and 255 if nothing was copied.\n" +
			"ptyctl fleet collect 'web[01-20]' /etc/app.conf ./collected",
		Flags: append(fleetFlags("the copy", "10m"), verifyFlag(),
			&cli.BoolFlag{Name: "overwrite", Usage: "replace files in FOLDER that differ"}),
		Action: collectFromFleet,
	}
}

func verifyFlag() cli.Flag {
	return &cli.BoolFlag{Name: "no-verify", Usage: "do not read a copy back before it takes its place"}
}

// copyToFleet copies a file to many hosts, with a ptyctl within this process.
func copyToFleet(c *cli.Context) error {
	args := c.Args()
	if len(args) == 2 { // as for scp
		if hosts, path, ok := strings.Cut(args[1], ":/"); ok && hosts != "" {
			args = []string{args[0], hosts, "/" + path}
		}
	}
	call, err := copyCall(c, args)
	if err != nil {
		return err
	}
	file, err := filepath.Abs(args[0])
	if err != nil {
		return err
	}
	last := len(args) - 1
	call.Action, call.From = "copy", &fleetrun.Source{Path: file}
	call.To = fleetrun.Place{Hosts: args[1:last], Path: args[last]}
	return copyOnFleet(c, call)
}

// collectFromFleet copies a file of each of many hosts, with a ptyctl within this process.
func collectFromFleet(c *cli.Context) error {
	args := c.Args()
	call, err := copyCall(c, args)
	if err != nil {
		return err
	}
	last := len(args) - 1
	folder, err := filepath.Abs(args[last])
	if err != nil {
		return err
	}
	call.Action, call.Hosts, call.Path = "collect", args[:last-1], args[last-1]
	call.To, call.Overwrite = fleetrun.Place{Path: folder}, c.Bool("overwrite")
	return copyOnFleet(c, call)
}

// copyCall reads the flags, and checks that there are arguments.
func copyCall(c *cli.Context, args []string) (call fleetrun.CopyCall, err error) {
	switch {
	case slices.ContainsFunc(args, isFlag):
		return call, misplaced(c, args)
	case len(args) < 3 || slices.Contains(args, ""):
		return call, usageError{fmt.Errorf(
			"%s needs three arguments or more; call it as %s [flags] %s", c.Command.Name, c.Command.HelpName, c.Command.ArgsUsage,
		)}
	}
	if c.Bool("no-verify") {
		call.Verify = new(false)
	}
	call.Order, err = fleetOrder(c)
	return call, err
}

// copyOnFleet makes the call, and exits as its end says.
func copyOnFleet(c *cli.Context, call fleetrun.CopyCall) error {
	end, err := onFleet(c, []string{"core", "fs", "fleet"}, func(_ *app.App, on *control.Client, o fleetrun.Options) (fleetrun.End, error) {
		return fleetrun.Copy(c.Context, on, call, o)
	})
	switch {
	case err != nil:
		return err
	case end.Interrupted:
		fmt.Fprintln(os.Stderr, "ptyctl: interrupted; hosts that have no copy yet keep the file that they had")
		return exitStatus{exitInterrupted}
	case !end.OK:
		return exitStatus{1}
	}
	return nil
}
