package commands

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"

	"ptyctl/internal/cli"

	"ptyctl/internal/attach"
	"ptyctl/internal/client"
	"ptyctl/internal/tmux"
	"ptyctl/internal/tty"
	"ptyctl/term"
)

func bridgeCommand() *cli.Command {
	return group(&cli.Command{
		Name: "bridge", Usage: "show a session in another program",
		Subcommands: []*cli.Command{{
			Name: "tmux", Usage: "show a session in a tmux window that anybody of yours may look at, for as " +
				"long as it lasts",
			ArgsUsage: "ID",
			Flags: append(
				reachFlags(),
				&cli.BoolFlag{
					Name: "take",
					Usage: "take the terminal from the agent for those who look, until ctrl-] or the last of them " +
						"gives it back (control_mode readwrite)",
				},
				&cli.BoolFlag{Name: "list", Usage: "only list the windows that there are"},
				&cli.BoolFlag{Name: "json", Usage: "print JSON"},
			),
			Action: func(c *cli.Context) error {
				if c.Bool("list") {
					return listBridges(c)
				}
				return withSession(runBridge)(c)
			},
		}},
	})
}

func listBridges(c *cli.Context) error {
	if _, err := arguments(c, 0, 0); err != nil {
		return err
	}
	t, err := tmux.Find(c.Context)
	if err != nil {
		return err
	}
	all, err := t.Windows(c.Context)
	switch {
	case err != nil:
		return err
	case c.Bool("json"):
		return printJSON(c.App.Writer, append([]tmux.Window{}, all...))
	case len(all) == 0:
		_, err := io.WriteString(c.App.Writer, "no bridges\n")
		return err
	}
	table := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SESSION\tMODE\tSTATE\tSIZE\tVIEWERS\tLOOK WITH")
	for _, w := range all {
		state := "shown"
		if !w.Alive {
			state = "ended"
		}
		session := tty.Printable(w.SessionID)
		fmt.Fprintf(table, "%s\t%s\t%s\t%dx%d\t%d\t%s\n", session, w.Mode, state, w.Cols, w.Rows, w.Viewers, w.Attach)
	}
	return table.Flush()
}

// runBridge makes the session's window, unless it exists, and says how to look at it.
func runBridge(c *cli.Context, s client.Session) error {
	if s.State == "closed" || s.State == "error" {
		return term.Errorf(
			term.AlreadyClosed,
			"session %s has ended; ptyctl tail %[1]s prints what it showed",
			tty.Printable(s.SessionID),
		)
	}
	t, err := tmux.Find(c.Context)
	if err != nil {
		return err
	}
	mode, leave := tmux.Watch, "ctrl-] leaves"
	if c.Bool("take") {
		if err := attach.To(s).MayTake(c.Context); err != nil {
			return err
		}
		mode, leave = tmux.Take, "ctrl-] gives it back"
	}
	now, err := s.Status(c.Context)
	if err != nil {
		return err
	}
	command, err := windowCommand(c, s)
	if err != nil {
		return err
	}
	w, err := t.Show(c.Context, s.SessionID, mode, now.Session.Cols, now.Session.Rows, command)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(c.App.Writer, w)
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s: look at it with\n\n    %s\n\n%s\n", attach.Name(s), w.Attach, leave)
	return err
}

// windowCommand is the command that runs in the window.
func windowCommand(c *cli.Context, s client.Session) ([]string, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	words := []string{program, "attach", "--pane"}
	if c.Bool("take") {
		words = append(words, "--take")
	}
	for _, f := range [][2]string{{"--config", c.String("config")}, {"--socket", s.Process.Path}} {
		if f[1] == "" {
			continue
		}
		path, err := filepath.Abs(f[1]) // the window is in another folder
		if err != nil {
			return nil, err
		}
		words = append(words, f[0], path)
	}
	return append(words, s.SessionID), nil
}
