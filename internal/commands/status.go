package commands

import (
	"fmt"
	"io"
	"strings"

	"ptyctl/internal/cli"

	"ptyctl/internal/client"
	"ptyctl/internal/tty"
)

func statusCommand() *cli.Command {
	return &cli.Command{
		Name: "status",
		Usage: "count the sessions of each running ptyctl and show its metrics, or all that is known about " +
			"one session",
		ArgsUsage: "[ID]",
		Flags: append(reachFlags(),
			&cli.BoolFlag{Name: "json", Usage: "print JSON"},
		),
		Action: runStatus,
	}
}

func runStatus(c *cli.Context) error {
	if c.NArg() > 0 {
		return withSession(sessionStatus)(c)
	}
	all, err := reach(c)
	if err != nil {
		return err
	}
	defer all.Close()
	out := make([]client.ProcessStatus, len(all))
	for i, p := range all {
		if out[i], err = p.Status(c.Context); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		return printJSON(c.App.Writer, out)
	}
	var b strings.Builder
	for i := range out {
		printStatus(&b, &out[i])
	}
	_, err = io.WriteString(c.App.Writer, b.String())
	return err
}

// sessionStatus prints the status of one session as the server returns it.
func sessionStatus(c *cli.Context, e client.Session) error {
	var out struct{ Session any }
	if err := e.Process.Call(
		c.Context, client.ToolSession, client.SessionCall{Action: "status", SessionID: e.SessionID}, &out,
	); err != nil {
		return err
	}
	return printJSON(c.App.Writer, out.Session)
}

func printStatus(b *strings.Builder, s *client.ProcessStatus) {
	if s.PID != 0 {
		fmt.Fprintf(b, "process %d\n", s.PID)
	}
	fmt.Fprintf(b, "  socket    %s\n  sessions ", s.Socket)
	none := true
	for _, state := range client.States {
		if n := s.Sessions[state]; n > 0 {
			fmt.Fprintf(b, " %d %s", n, state)
			none = false
		}
	}
	if none {
		b.WriteString(" none")
	}
	fmt.Fprintf(b, "\n  asking    %d\n  locked    %d\n", s.Asking, s.Locked)
	for _, name := range sortedKeys(s.Metrics) {
		fmt.Fprintf(b, "  %s %s\n", tty.Printable(name), tty.Printable(s.Metrics[name]))
	}
}
