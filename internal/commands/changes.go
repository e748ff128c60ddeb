package commands

import (
	"cmp"
	"fmt"
	"os"

	"ptyctl/internal/cli"

	"ptyctl/internal/client"
	"ptyctl/internal/tty"
)

func snapshotCommand() *cli.Command {
	return &cli.Command{
		Name: "snapshot",
		Usage: "keep the configuration of a session's device under a name, in memory, to compare it later " +
			"(control_mode readwrite)",
		ArgsUsage: "ID NAME",
		Flags:     append(reachFlags(), &cli.BoolFlag{Name: "json", Usage: "print JSON"}),
		Action: func(c *cli.Context) error {
			args, err := arguments(c, 2, 2)
			if err != nil {
				return err
			}
			return atSession(c, args[0], func(c *cli.Context, s client.Session) error { return runSnapshot(c, s, args[1]) })
		},
	}
}

// A keptSnapshot is the JSON of snapshot.
type keptSnapshot struct {
	PID       int    `json:"pid,omitempty"`
	SessionID string `json:"session_id"`
	Name      string `json:"name"`
	Command   string `json:"command"`
	Lines     int    `json:"lines"`
	Bytes     int    `json:"bytes"`
}

func runSnapshot(c *cli.Context, s client.Session, name string) error {
	res, err := s.Snapshot(c.Context, name)
	if err := looked(s, res.Going, res.Warnings, err); err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(c.App.Writer, keptSnapshot{s.PID, s.SessionID, name, res.Command, res.Lines, res.Bytes})
	}
	_, err = fmt.Fprintf(c.App.Writer, "snapshot %s of session %s has the %d lines of %s\n",
		tty.Printable(name), tty.Printable(s.SessionID), res.Lines, tty.Printable(res.Command))
	return err
}

func diffCommand() *cli.Command {
	return &cli.Command{
		Name: "diff",
		Usage: "compare a snapshot of a session's device with a second one, or with its configuration now " +
			"(control_mode readwrite)",
		ArgsUsage:   "ID FROM [TO]",
		Description: "The status is 0 if the two are equal, and 1 if not. What changes by itself is not compared.",
		Flags:       append(reachFlags(), &cli.BoolFlag{Name: "json", Usage: "print JSON"}),
		Action: func(c *cli.Context) error {
			args, err := arguments(c, 2, 3)
			if err != nil {
				return err
			}
			to := ""
			if len(args) == 3 {
				to = args[2]
			}
			return atSession(c, args[0], func(c *cli.Context, s client.Session) error { return runDiff(c, s, args[1], to) })
		},
	}
}

// A difference is the JSON of diff.
type difference struct {
	PID          int    `json:"pid,omitempty"`
	SessionID    string `json:"session_id"`
	Equal        bool   `json:"equal"`
	Diff         string `json:"diff"`
	Added        int    `json:"added"`
	Removed      int    `json:"removed"`
	More         int    `json:"more_lines,omitempty"`
	Volatile     int    `json:"volatile,omitempty"`
	TooDifferent bool   `json:"too_different,omitempty"`
}

func runDiff(c *cli.Context, s client.Session, from, to string) error {
	res, err := s.Diff(c.Context, from, to)
	if err := looked(s, res.Going, res.Warnings, err); err != nil {
		return err
	}
	if c.Bool("json") {
		err := printJSON(c.App.Writer, difference{
			s.PID, s.SessionID, res.Equal, res.Diff, res.Added, res.Removed, res.More, res.Volatile, res.TooDifferent,
		})
		return cmp.Or(err, differs(res))
	}
	if res.More > 0 {
		fmt.Fprintf(os.Stderr, "ptyctl: %d more lines differ\n", res.More)
	}
	if res.TooDifferent {
		fmt.Fprintf(os.Stderr, "ptyctl: too many lines differ to show them: %d added, %d removed\n", res.Added, res.Removed)
	}
	if _, err := fmt.Fprint(c.App.Writer, tty.Plain(res.Diff)); err != nil {
		return err
	}
	return differs(res)
}

// differs is the status of a difference: 1, as that of diff(1).
func differs(res client.Difference) error {
	if res.Equal {
		return nil
	}
	return exitStatus{1}
}

// looked says how the command that shows a configuration has ended: with an error, or with a question of the device.
func looked(s client.Session, g client.Going, warnings []string, err error) error {
	if err != nil {
		return client.ReadOnlyHint(err)
	}
	warn(warnings)
	if g.WaitingFor == nil {
		return nil
	}
	return fmt.Errorf("session %s waits for an answer (%s): %s", tty.Printable(s.SessionID),
		tty.Printable(g.WaitingFor.Kind), tty.Printable(g.WaitingFor.Text))
}
