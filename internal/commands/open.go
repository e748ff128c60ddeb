package commands

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"ptyctl/internal/cli"

	"ptyctl/control"
	"ptyctl/internal/app"
	"ptyctl/internal/attach"
	"ptyctl/internal/client"
	"ptyctl/internal/direct"
	"ptyctl/internal/tty"
	"ptyctl/serial"
	"ptyctl/session"
	"ptyctl/term"
)

func openCommand() *cli.Command {
	return &cli.Command{
		Name: "open", Usage: "have a terminal on a host or a serial line, through what an agent has; ctrl-] closes it",
		ArgsUsage: "[USER@]HOST[:PORT] | serial:PATH",
		Flags: append(slices.Concat(hostFlags(), serialFlags()),
			&cli.BoolFlag{Name: "raw", Usage: "show the bytes as they are: they may do anything to your terminal"},
			&cli.BoolFlag{
				Name: "keep",
				Usage: "open it in the ptyctl that runs, and leave it there for an agent when you press ctrl-] " +
					"(control_mode readwrite)",
			},
			&cli.StringFlag{
				Name:  "for",
				Usage: "with --keep: leave it to this client of the daemon (`SHIM`), or without it to the next one in this folder",
			},
			&cli.StringFlag{Name: "socket", Usage: "with --keep: the ptyctl with the control socket at this `PATH`"},
			&cli.IntFlag{Name: "pid", Usage: "with --keep: the ptyctl with this process `ID`"},
		),
		Action: runOpen,
	}
}

func runOpen(c *cli.Context) error {
	args, err := arguments(c, 1, 1)
	if err != nil {
		return err
	}
	if !tty.IsTerminal(os.Stdin) || !tty.IsTerminal(os.Stdout) {
		return usageError{
			errors.New("open is for a person at a terminal; for a single command, call ptyctl exec HOST -- COMMAND"),
		}
	}
	host, err := placeAt(c, args[0])
	if err != nil {
		return err
	}
	host.PTY = &direct.PTY{Term: os.Getenv("TERM")}
	host.PTY.Cols, host.PTY.Rows = tty.Size(os.Stdout)
	if c.Bool("keep") {
		return openKept(c, host)
	}
	for _, name := range []string{"for", "socket", "pid"} {
		if c.IsSet(name) {
			return usageError{fmt.Errorf("--%s goes with --keep", name)}
		}
	}
	return atHost(c, host, func(_ *app.App, _ *control.Client, at *attach.Attachment) error {
		ended, err := at.Type(c.Context, attach.Options{Out: c.App.Writer, Raw: c.Bool("raw")})
		if err != nil || !ended { // not ended: the person has left, or a signal came
			return err
		}
		now, err := at.Status(c.Context)
		if err != nil {
			return err
		}
		return sessionEnd(now)
	})
}

// serialFlags are the settings of a serial line.
func serialFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "baud", Usage: "the `SPEED` of a serial line; default 9600. These settings are also for the line of a Telnet server (RFC 2217)"},
		&cli.IntFlag{Name: "data-bits", Usage: "5 to 8; default 8"},
		&cli.StringFlag{Name: "parity", Usage: "one of none, odd, even, mark, space"},
		&cli.IntFlag{Name: "stop-bits", Usage: "1 or 2; default 1"},
		&cli.StringFlag{Name: "flow", Usage: "flow control, one of none, rtscts, xonxoff"},
		&cli.StringFlag{Name: "dtr", Usage: "one of on, off, keep; default as the system opens the line"},
		&cli.StringFlag{Name: "rts", Usage: "one of on, off, keep; default as the system opens the line"},
	}
}

// placeAt returns the place that an argument of open names: serial:PATH, or a host.
func placeAt(c *cli.Context, where string) (direct.Host, error) {
	o := term.SerialOptions{
		Baud: c.Int("baud"), DataBits: c.Int("data-bits"), Parity: c.String("parity"), StopBits: c.Int("stop-bits"),
		Flow: c.String("flow"), DTR: c.String("dtr"), RTS: c.String("rts"),
	}
	path, isLine := strings.CutPrefix(where, "serial:")
	if err := serial.Check(o); err != nil {
		return direct.Host{}, usageError{err}
	}
	if !isLine {
		host, err := hostAt(c, where)
		if err == nil && o != (term.SerialOptions{}) && host.Protocol != "telnet" {
			err = usageError{errors.New("--baud and the like are for serial:PATH and for --protocol telnet")}
		}
		host.Serial = o
		return host, err
	}
	for name, flag := range map[string]string{
		"protocol": "--protocol", "p": "-p", "J": "-J", "host-key": "--host-key", "secret": "--secret",
	} {
		if c.IsSet(name) {
			return direct.Host{}, usageError{fmt.Errorf("%s is about a host, and %q is a serial line; leave it out", flag, where)}
		}
	}
	if path == "" {
		return direct.Host{}, usageError{errors.New("the path of the serial line is missing, as in serial:/dev/ttyUSB0")}
	}
	o.Path = path
	h := direct.Host{Protocol: "ssh", Profile: c.String("profile")}
	err := checkHost(h)
	h.Protocol, h.Serial = "serial", o
	return h, err
}

// sessionEnd returns the exit status of a command after its session has ended.
func sessionEnd(now client.StatusResult) error {
	end := now.Session
	if end.ExitCode == nil && session.State(now.State) == session.Open && !end.PTY { // why was a warning of the opening
		fmt.Fprintln(os.Stderr, "ptyctl: without a terminal there is nothing to type into; run commands with ptyctl exec")
		return exitStatus{exitNoStatus}
	}
	if end.ExitCode == nil && end.ExitSignal == "" && end.EndReason != "" {
		fmt.Fprintf(os.Stderr, "ptyctl: the session has ended: %s\n", tty.Printable(end.EndReason))
		return exitStatus{exitNoStatus}
	}
	return remoteStatus(end.ExitCode, end.ExitSignal)
}

// openKept opens a terminal in a running ptyctl, where it stays once the person has left it.
func openKept(c *cli.Context, host direct.Host) error {
	all, err := reach(c)
	if err != nil {
		return err
	}
	defer all.Close()
	p, err := all.One("")
	if err != nil {
		return err
	}
	host.Kept = true
	person := attach.NewPerson(os.Stdin, c.App.ErrWriter)
	at, err := direct.Open(c.Context, p.Client, host, person, os.Stderr)
	if err != nil {
		return notReached(c, err)
	}
	s := client.Session{SessionID: at.ID, Protocol: host.Protocol, Host: cmp.Or(host.Host, host.Serial.Path), Process: p}
	if err := attach.Take(c.Context, s, person, attach.Options{Out: c.App.Writer, Raw: c.Bool("raw")}); err != nil {
		return err
	}
	now, err := at.Status(c.Context)
	if err != nil {
		return err
	}
	if session.State(now.State).Ended() {
		return sessionEnd(now)
	}
	err = give(c, s, cmp.Or(c.String("for"), "."))
	if client.IsCode(err, "UNSUPPORTED") && c.String("for") == "" { // its one agent sees it as it is
		_, err = fmt.Fprintf(c.App.Writer, "session %s stays in %v, whose agent sees it\n", tty.Printable(at.ID), p)
	}
	return err
}

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
