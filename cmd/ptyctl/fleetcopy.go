package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ptyctl/control"
	"ptyctl/internal/app"
	"ptyctl/internal/fleetrun"
)

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
	args := c.Args().Slice()
	if len(args) == 2 { // as scp has it
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
	call.Action, call.From = "copy", &fleetrun.Place{Path: file}
	call.To = fleetrun.Place{Hosts: args[1:last], Path: args[last]}
	return copyOnFleet(c, call)
}

// collectFromFleet copies a file of each of many hosts, with a ptyctl within this process.
func collectFromFleet(c *cli.Context) error {
	args := c.Args().Slice()
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
	call = fleetrun.CopyCall{
		Canary: c.Int("canary"), Batch: c.String("batch"), StopOnFailures: c.String("stop-on-failures"),
		MaxParallel: c.Int("max-parallel"), Timeout: c.Duration("timeout").Milliseconds(),
		Deadline: c.Duration("deadline").Milliseconds(),
	}
	if c.Bool("skip-refused") {
		call.OnRefused = "skip"
	}
	if c.Bool("no-verify") {
		call.Verify = new(false)
	}
	if call.Canary < 0 || call.MaxParallel < 0 || call.Timeout < 0 || call.Deadline < 0 {
		return call, usageError{errors.New("a number or a time is negative; give one from 0")}
	}
	return call, nil
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
