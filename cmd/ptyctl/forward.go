package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"ptyctl/internal/cli"

	"ptyctl/control"
	"ptyctl/internal/app"
	"ptyctl/internal/attach"
	"ptyctl/internal/client"
	"ptyctl/internal/tty"
)

func forwardCommand() *cli.Command {
	return &cli.Command{
		Name: "forward",
		Usage: "forward connections from a Unix socket here to an address that a host reaches, until ctrl-c " +
			"([forward] allow in the configuration lists the addresses)",
		ArgsUsage: "[USER@]HOST[:PORT] TO:PORT",
		Flags: append(hostFlags(),
			&cli.StringFlag{Name: "listen", Usage: "also make a link at this `PATH` that leads to the socket"},
			&cli.IntFlag{
				Name: "tcp", Value: -1,
				Usage: "listen at this `PORT` of 127.0.0.1 in place of a socket, 0 for any; every user and web page of this " +
					"machine can reach it ([forward] tcp)",
			},
		),
		Action: runForward,
	}
}

type forwardCall struct {
	Action  string `json:"action"`
	Session string `json:"session_id"`
	To      string `json:"to"`
	TCPPort *int   `json:"tcp_port,omitempty"`
}

func runForward(c *cli.Context) error {
	args, err := arguments(c, 2, 2)
	if err != nil {
		return err
	}
	host, err := hostAt(c, args[0])
	if err != nil {
		return err
	}
	call := forwardCall{Action: "forward", To: args[1]}
	link := c.String("listen")
	switch port := c.Int("tcp"); {
	case host.Protocol != "ssh":
		return usageError{errors.New("forward needs SSH; leave --protocol out")}
	case c.IsSet("tcp") && (port < 0 || port > 65535):
		return usageError{fmt.Errorf("--tcp is %d; give a port from 1 to 65535, or 0 for any", port)}
	case c.IsSet("tcp") && link != "":
		return usageError{errors.New("--listen is about a Unix socket, and --tcp about a port; leave one out")}
	case c.IsSet("tcp"):
		call.TCPPort = &port
	}
	cfg, err := fileConfig(c)
	if err != nil {
		return err
	}
	// Before a connection is made and a password asked.
	if err := app.CheckForward(cfg, call.To); err != nil {
		return err
	}
	host.CommandsOnly = true // a terminal would not be used
	return atHost(c, host, func(_ *app.App, on *control.Client, at *attach.Attachment) error {
		call.Session = at.ID
		return forwardAt(c, on, call, link)
	})
}

// forwardAt forwards until the person or the host ends it.
func forwardAt(c *cli.Context, on *control.Client, call forwardCall, link string) error {
	var out struct {
		Socket, Address string
		Warnings        []string
	}
	if err := on.Call(c.Context, client.ToolSession, call, &out); err != nil {
		return err
	}
	warn(out.Warnings)
	if link != "" {
		remove, err := linkTo(out.Socket, link)
		if err != nil {
			return err
		}
		defer remove()
	}
	if _, err := fmt.Fprintln(c.App.Writer, tty.Printable(out.Socket+out.Address)); err != nil {
		return err
	}
	for {
		var over struct {
			Fired []struct{}
		}
		err := on.Call(c.Context, client.ToolSession, endCall{"wait", []endEntry{{call.Session, true}}}, &over)
		switch {
		case c.Context.Err() != nil: // ctrl-c
			return nil
		case err != nil:
			return err
		case len(over.Fired) > 0:
			at := attach.Attachment{Client: on, ID: call.Session}
			now, err := at.Status(c.Context)
			if err != nil {
				return err
			}
			return fmt.Errorf("the session has ended, and the forward with it: %s", now.Session.EndReason)
		} // else the call has lasted for as long as one may
	}
}

type endCall struct {
	Action string     `json:"action"`
	On     []endEntry `json:"on"`
}

type endEntry struct {
	Session   string `json:"session_id"`
	UntilExit bool   `json:"until_exit"`
}

// linkTo makes a symbolic link to the socket, for clients that want it at a path of their own. It replaces a link whose
// socket is gone, and nothing else.
func linkTo(socket, path string) (remove func(), err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink != 0 {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			_ = os.Remove(path)
		}
	}
	if err := os.Symlink(socket, path); err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	return func() {
		if now, err := os.Readlink(path); err == nil && now == socket {
			_ = os.Remove(path)
		}
	}, nil
}
