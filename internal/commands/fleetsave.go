package commands

import (
	"errors"
	"fmt"
	"os"

	"ptyctl/internal/cli"

	"ptyctl/fleet/groups"
	"ptyctl/fleet/saved"
	"ptyctl/internal/fleetrun"
	"ptyctl/internal/tty"
)

func saveFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "save", Usage: "keep the answer of each host in a new `FILE` of yours alone, for fleet diff --before",
	}
}

// A saving is the file of --save. It is made before the command is run: afterwards it would be too late for an error.
type saving struct {
	f *os.File // nil: nothing is saved
}

// newSaving makes the file; without a path it makes none.
func newSaving(path string) (saving, error) {
	if path == "" {
		return saving{}, nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, os.ErrExist):
		err = fmt.Errorf("%w: --save writes no file that exists; name another one", err)
	case errors.Is(err, os.ErrNotExist):
		err = fmt.Errorf("%w: --save makes no folder; make it first, or name another file", err)
	case err != nil:
		err = fmt.Errorf("%w: nothing was run; name another file for --save", err)
	}
	return saving{f}, err
}

// end writes the answers. It removes the file if answers is nil or cannot be written.
func (s saving) end(answers *saved.Answers) error {
	if s.f == nil {
		return nil
	}
	err := errors.New("nothing was run")
	if answers != nil {
		err = saved.Write(s.f, answers)
		err = errors.Join(err, s.f.Sync())
	}
	err = errors.Join(err, s.f.Close())
	if err == nil {
		return nil
	}
	_ = os.Remove(s.f.Name())
	if answers == nil {
		return nil // the caller knows why
	}
	return fmt.Errorf("the answers were not saved: %w", err)
}

// diffFleet shows how the answers of hosts differ from each other, or from those of a file.
func diffFleet(c *cli.Context) error {
	switch {
	case c.String("before") == "" && c.String("after") != "":
		return usageError{errors.New("--after needs --before: the file to compare with")}
	case c.String("before") == "":
		return runFleet(c, true)
	case c.String("after") != "" && (c.NArg() > 0 || c.String("save") != ""):
		return usageError{errors.New("--after runs nothing: leave out the hosts, the command and --save")}
	}
	before, err := saved.Read(c.String("before"))
	if err != nil {
		return failureToReach{"fleet diff", err}
	}
	var after *saved.Answers
	if path := c.String("after"); path != "" {
		if after, err = saved.Read(path); err != nil {
			return failureToReach{"fleet diff", err}
		}
	} else if _, after, err = runOnHosts(c, fleetrun.Options{Quiet: true}); err != nil {
		return err
	}
	if before.Command != after.Command {
		fmt.Fprintf(os.Stderr, "ptyctl: the answers are those of two commands: before %s, after %s\n",
			tty.Printable(before.Command), tty.Printable(after.Command))
	}
	normalize := groups.None
	if c.Bool("volatile") {
		normalize = groups.Volatile
	}
	same, err := fleetrun.Options{Out: c.App.Writer, JSON: c.Bool("json")}.ShowChanges(before, after, normalize)
	if err == nil && !same {
		err = exitStatus{1}
	}
	return err
}
