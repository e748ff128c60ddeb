package commands

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"ptyctl/internal/cli"

	"ptyctl/control"
	"ptyctl/internal/client"
)

// reachFlags say which process is meant.
func reachFlags() []cli.Flag {
	return []cli.Flag{
		configFlag(),
		&cli.StringFlag{Name: "socket", Usage: "the control socket at this `PATH` alone"},
		&cli.IntFlag{Name: "pid", Usage: "the ptyctl with this process `ID` alone"},
	}
}

// opening are the commands that open a connection, or start a program, in a process that they reach. That has the agent,
// the folder and the variables of the command.
var opening = []string{"open", "reopen", "call"}

// reach connects to every process that reachFlags mean. It reports one that does not answer on stderr.
func reach(c *cli.Context) (client.Processes, error) {
	cfg, err := fileConfig(c)
	if err != nil {
		return nil, err
	}
	if c.String("socket") != "" && c.Int("pid") != 0 {
		return nil, usageError{errors.New("--socket and --pid exclude each other; give one of them")}
	}
	o := control.Options{
		Token: cfg.Server.Control.ControlAuthToken.Reveal(), Command: c.Command.Name, Version: c.App.Version,
	}
	if slices.Contains(opening, c.Command.Name) {
		o.Dir, _ = os.Getwd() // unknown: that of the server counts
		o.Variables = append([]string{}, callersEnvironment(c.Context, cfg)...)
	}
	found, unreached, err := client.Connect(c.Context, client.Options{
		Path: c.String("socket"), PID: c.Int("pid"), Configured: cfg.Server.Control.ControlSocketPath, Options: o,
	})
	if unreached != nil {
		fmt.Fprintf(os.Stderr, "ptyctl: %v\n", unreached)
	}
	return found, err
}

// withSession returns the action of a command with a session as its only argument: it finds the session and calls do.
func withSession(do func(c *cli.Context, s client.Session) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		args, err := arguments(c, 1, 1)
		if err != nil {
			return err
		}
		return atSession(c, args[0], do)
	}
}

// atSession finds the session with an id, or with the beginning of one, and calls do.
func atSession(c *cli.Context, id string, do func(c *cli.Context, s client.Session) error) error {
	all, err := reach(c)
	if err != nil {
		return err
	}
	defer all.Close()
	s, err := all.Find(c.Context, id)
	if err != nil {
		return err
	}
	return do(c, s)
}
