package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ptyctl/control"
	"ptyctl/internal/attach"
	"ptyctl/internal/client"
	"ptyctl/internal/tty"
	"ptyctl/session"
	"ptyctl/term"
)

func reopenCommand() *cli.Command {
	return &cli.Command{
		Name: "reopen",
		Usage: "connect a session again that its host has ended, or whose connection was lost; " +
			"a password is asked for (control_mode readwrite)",
		ArgsUsage: "ID",
		Flags: append(reachFlags(),
			&cli.DurationFlag{
				Name:  "wait",
				Usage: "repeat the attempt for up to this `TIME`, at most 30m, while the host cannot be reached",
			},
			&cli.BoolFlag{Name: "json", Usage: "print JSON"},
		),
		Action: func(c *cli.Context) error {
			if d := c.Duration("wait"); d < 0 || d > session.LongestReopening {
				return usageError{fmt.Errorf("--wait is %v; give a time such as 10m, at most 30m", d)}
			}
			return withSession(runReopen)(c)
		},
	}
}

// A reopened is the JSON of reopen.
type reopened struct {
	PID       int    `json:"pid,omitempty"`
	SessionID string `json:"session_id"`
	State     string `json:"state"`
	Opens     int64  `json:"opens"`
	Cursor    string `json:"cursor"` // at which the output of the new connection begins
}

func runReopen(c *cli.Context, s client.Session) error {
	res, err := s.Reopen(c.Context, c.Duration("wait"))
	if err != nil {
		return notReopened(c, client.ReadOnlyHint(err))
	}
	warn(res.Warnings)
	if r := res.Reopening; r.Attempts > 0 {
		fmt.Fprintf(os.Stderr, "ptyctl: not yet: %s; attempts go on until %s, also after ctrl-c\n",
			tty.Printable(r.LastError), time.UnixMilli(r.Until).Format(time.TimeOnly))
		if err := s.AwaitOpen(c.Context); err != nil {
			return notReopened(c, err)
		}
	}
	if err := attach.To(s).Login(c.Context, attach.NewPerson(os.Stdin, c.App.ErrWriter)); err != nil {
		return notReopened(c, err)
	}
	now, err := s.Status(c.Context)
	if err != nil {
		return err
	}
	warn(now.Session.Warnings)
	opens := now.Session.Opens
	if c.Bool("json") {
		return printJSON(c.App.Writer, reopened{s.PID, s.SessionID, now.State, opens, res.Cursor})
	}
	_, err = fmt.Fprintf(c.App.Writer, "session %s is open again: connection %d, whose output begins at cursor %s\n",
		tty.Printable(s.SessionID), opens, tty.Printable(res.Cursor))
	return err
}

func warn(warnings []string) {
	for _, w := range warnings {
		fmt.Fprintf(os.Stderr, "ptyctl: %s\n", tty.Printable(w))
	}
}

// fromHost are the codes of failures that are the host's.
var fromHost = []term.Kind{
	term.ConnectFailed, term.ConnectTimeout, term.RemoteClosed, term.AuthFailed, term.NegotiationLoop,
	term.HostKeyUnknown, term.HostKeyMismatch, term.HostKeyRevoked,
}

// notReopened tells the failures of a host from those of the call.
func notReopened(c *cli.Context, err error) error {
	if ended, ok := errors.AsType[*attach.EndedError](err); ok { // the reason begins with that of the first end
		if _, why, found := strings.Cut(ended.Reason, "not reopened: "); found {
			err = errors.New(tty.Printable(why))
		}
	}
	e, failed := errors.AsType[*control.ToolError](err)
	if failed && !slices.Contains(fromHost, term.Kind(e.Code)) {
		return err
	}
	return notReached(c, err)
}
