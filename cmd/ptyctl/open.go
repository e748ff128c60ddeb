package main

import (
	"errors"
	"os"

	"github.com/urfave/cli/v2"
)

func openCommand() *cli.Command {
	return &cli.Command{
		Name: "open", Usage: "have a terminal on a host, through what an agent has; ctrl-] closes it",
		ArgsUsage: "[USER@]HOST[:PORT]",
		Flags: append(hostFlags(),
			&cli.BoolFlag{Name: "raw", Usage: "show the bytes as they are: they may do anything to your terminal"},
		),
		Action: runOpen,
	}
}

func runOpen(c *cli.Context) (err error) {
	args, err := arguments(c, 1, 1)
	if err != nil {
		return err
	}
	if !isTerminal(os.Stdin) || !isTerminal(os.Stdout) {
		return usageError{
			errors.New("open is for a person at a terminal; for a single command, call ptyctl exec HOST -- COMMAND"),
		}
	}
	c.Context = asPerson(c.Context)
	a, closeAll, err := newApp(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	on, err := a.Client(c.Context, 0)
	if err != nil {
		return err
	}
	defer on.Close()
	pty := &openPTY{Term: os.Getenv("TERM")}
	pty.Cols, pty.Rows = size(os.Stdout)
	s, err := openHost(c, on, args[0], pty)
	if err != nil {
		return notReached(err)
	}
	w := newWatch(c, s)
	w.typist = newTypist(s)
	if err := w.run(c.Context); err != nil {
		return err
	}
	if !w.ended { // the person has left, or a signal came
		return nil
	}
	var now statusResult
	if err := on.Call(c.Context, toolSession, sessionCall{Action: "status", SessionID: s.id}, &now); err != nil {
		return err
	}
	return remoteStatus(now.Session.ExitCode, now.Session.ExitSignal)
}
