package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"
)

func bridgeCommand() *cli.Command {
	return group(&cli.Command{
		Name: "bridge", Usage: "show a session in another program",
		Subcommands: []*cli.Command{{
			Name: "tmux", Usage: "show a session in a tmux window that anybody of yours may look at, for as long as it lasts",
			ArgsUsage: "ID",
			Flags: append(
				reachFlags(),
				&cli.BoolFlag{
					Name:  "take",
					Usage: "take the terminal from the agent for those who look, until ctrl-] or the last of them gives it back (control_mode readwrite)",
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

// A window shows one session.
type window struct {
	SessionID string `json:"session_id"`
	Mode      string `json:"mode"`
	Alive     bool   `json:"alive"` // false: what it showed last, as long as somebody looks
	Cols      int    `json:"cols"`
	Rows      int    `json:"rows"`
	Viewers   int    `json:"viewers"`
	Socket    string `json:"socket"`
	Attach    string `json:"attach"` // the command by which a person looks

	name string // of the tmux session
}

// The modes of a window.
const (
	modeWatch = "watch"
	modeTake  = "take"
)

func listBridges(c *cli.Context) error {
	if _, err := arguments(c, 0, 0); err != nil {
		return err
	}
	t, err := ourTmux(c.Context)
	if err != nil {
		return err
	}
	all, err := t.windows(c.Context)
	switch {
	case err != nil:
		return err
	case c.Bool("json"):
		return printJSON(c.App.Writer, append([]window{}, all...))
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
		fmt.Fprintf(
			table,
			"%s\t%s\t%s\t%dx%d\t%d\t%s\n",
			printable(w.SessionID),
			w.Mode,
			state,
			w.Cols,
			w.Rows,
			w.Viewers,
			w.Attach,
		)
	}
	return table.Flush()
}

// runBridge makes the session's window, unless it is there, and says how to look at it.
func runBridge(c *cli.Context, e sessionEntry) error {
	if e.State == "closed" || e.State == "error" {
		return fmt.Errorf("session %s has ended; ptyctl tail %[1]s prints what it showed", printable(e.SessionID))
	}
	t, err := ourTmux(c.Context)
	if err != nil {
		return err
	}
	w := window{
		SessionID: e.SessionID,
		Mode:      modeWatch,
		Socket:    t.socket,
		name:      strings.ReplaceAll(e.SessionID, ".", "_"),
	} // tmux allows no dot
	if c.Bool("take") {
		if err := mayTake(c, e); err != nil {
			return err
		}
		w.Mode, w.name = modeTake, "take-"+w.name
	}
	if err := t.show(c, e, &w); err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(c.App.Writer, w)
	}
	leave := "ctrl-] leaves"
	if w.Mode == modeTake {
		leave = "ctrl-] gives it back"
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s: look at it with\n\n    %s\n\n%s\n", e.name(), w.Attach, leave)
	return err
}

// mayTake finds out whether people may type, before a window is made that could only say that they may not.
func mayTake(c *cli.Context, e sessionEntry) error {
	err := e.on.Call(
		c.Context,
		toolSession,
		sessionCall{Action: "heartbeat", SessionID: e.SessionID, TaskID: person()},
		nil,
	)
	if isCode(err, "POLICY_DENIED") {
		return readOnlyHint(err)
	}
	// What else is wrong with it is not for a heartbeat to say.
	var now statusResult
	if err := e.on.Call(c.Context, toolSession, sessionCall{Action: "status", SessionID: e.SessionID}, &now); err != nil {
		return err
	}
	return now.mayType()
}

// show sees to it that w is there and alive, and fills in what was not known of it.
func (t *tmux) show(c *cli.Context, e sessionEntry, w *window) error {
	var now statusResult
	if err := e.on.Call(c.Context, toolSession, sessionCall{Action: "status", SessionID: e.SessionID}, &now); err != nil {
		return err
	}
	cols, rows := now.Session.Cols, now.Session.Rows
	if cols < 1 || rows < 1 { // it has no terminal; its lines are shown in one of the usual size
		cols, rows = 80, 24
	}
	command, err := attachCommandLine(c, e)
	if err != nil {
		return err
	}
	for range 3 { // another may make it too, and a server that is just ending takes nothing: both are over soon
		all, bad := t.windows(c.Context)
		if bad != nil {
			return bad
		}
		i := slices.IndexFunc(all, func(there window) bool { return there.name == w.name })
		switch {
		case i < 0:
			err = t.make(c.Context, w, cols, rows, command)
		case all[i].Alive:
			*w = all[i]
			return nil
		default: // it has ended before the eyes of somebody
			_, err = t.run(c.Context, slices.Concat([]string{"respawn-pane", "-t", "=" + w.name + ":", "--"}, command))
		}
	}
	if err == nil {
		err = fmt.Errorf("ptyctl attach ends at once in the window; call ptyctl attach %s to see why", printable(w.SessionID))
	}
	return err
}

// make makes a window.
func (t *tmux) make(ctx context.Context, w *window, cols, rows int, command []string) error {
	commands := append([][]string{{"start-server"}}, hardening...)
	commands = append(
		commands,
		slices.Concat(
			[]string{"new-session", "-d", "-s", w.name, "-x", strconv.Itoa(cols), "-y", strconv.Itoa(rows), "--"},
			command,
		),
		[]string{"set-option", "-w", "window-size", "manual"}, // for all windows at once it brings tmux 3.3a down
		[]string{"set-option", "@session", w.SessionID},
	)
	if w.Mode == modeTake {
		commands = append(commands, []string{"set-option", "@take", "1"}, []string{"set-option", "key-table", takeKeys})
	}
	_, err := t.run(ctx, commands...)
	return errors.Join(err, t.guard())
}

// attachCommandLine is what runs in the window.
func attachCommandLine(c *cli.Context, e sessionEntry) ([]string, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	words := []string{program, "attach", "--pane"}
	if c.Bool("take") {
		words = append(words, "--take")
	}
	for _, f := range [][2]string{{"--config", c.String("config")}, {"--socket", e.on.Path}} {
		if f[1] == "" {
			continue
		}
		path, err := filepath.Abs(f[1]) // the window is in another folder
		if err != nil {
			return nil, err
		}
		words = append(words, f[0], path)
	}
	return append(words, e.SessionID), nil
}
