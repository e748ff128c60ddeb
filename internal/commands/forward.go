package commands

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"ptyctl/internal/cli"

	"ptyctl/control"
	"ptyctl/internal/app"
	"ptyctl/internal/attach"
	"ptyctl/internal/client"
	"ptyctl/internal/tty"
	"ptyctl/session/forward"
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
	// A terminal window that is closed ends it too, and its socket and link are removed.
	ctx, stop := untilHangup(c.Context)
	defer stop()
	c.Context = ctx
	call := forwardCall{Action: "forward", To: args[1]}
	link := c.String("listen")
	switch port := c.Int("tcp"); {
	case host.Protocol != "ssh":
		return usageError{errors.New("forward needs SSH; leave --protocol out")}
	case c.IsSet("tcp") && (port < 0 || port > 65535):
		return usageError{fmt.Errorf("--tcp is %d; give a port from 1 to 65535, or 0 for any", port)}
	case c.IsSet("listen") && link == "":
		return usageError{errors.New("--listen is empty; give a path, or leave it out")}
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
	if err := app.CheckForward(cfg, call.To, call.TCPPort != nil); err != nil {
		return err
	}
	if link != "" {
		if link, err = checkLink(link); err != nil {
			return err
		}
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

// untilHangup returns a context that also ends with the terminal. nohup(1) has SIGHUP ignored, and so it stays.
func untilHangup(ctx context.Context) (context.Context, context.CancelFunc) {
	if signal.Ignored(syscall.SIGHUP) {
		return context.WithCancel(ctx)
	}
	return signal.NotifyContext(ctx, syscall.SIGHUP)
}

// checkLink returns the whole path of a link to be made, before there is a socket. Its error says why it cannot be made.
func checkLink(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("--listen: %w", err)
	}
	if old, err := mayLink(path); err != nil || old {
		return path, err
	}
	// Only a trial finds a file system that is read-only or has no links: the folder's permissions do not show it.
	if err := os.Symlink(path, path); err != nil {
		return "", notLinked(path, err)
	}
	return path, os.Remove(path)
}

// mayLink reports whether a link at a path would replace the link of an earlier forward. Its error describes the file
// at the path.
func mayLink(path string) (replaces bool, err error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, notLinked(path, err)
	case info.Mode()&fs.ModeSymlink == 0:
		return false, fmt.Errorf("--listen: %s is there already, and is no link of ptyctl forward; give another path", path)
	}
	to, err := os.Readlink(path)
	if err != nil {
		return false, notLinked(path, err)
	}
	switch forward.StateOf(to) {
	case forward.Leftover:
		return true, nil
	case forward.Live:
		return false, fmt.Errorf("--listen: %s leads to a socket at which another process listens: end that one, or give "+
			"another path", path)
	}
	return false, fmt.Errorf("--listen: %s is a link to %s, which is no socket of ptyctl forward; give another path", path, to)
}

// linkTo makes a symbolic link to the socket, for clients that want it at a path of their own. It replaces the link of
// an earlier forward that was killed, and no other file.
func linkTo(socket, path string) (remove func(), err error) {
	old, err := mayLink(path)
	if err != nil {
		return nil, err
	}
	if old {
		_ = os.Remove(path)
	}
	if err := os.Symlink(socket, path); err != nil {
		return nil, notLinked(path, err)
	}
	return func() {
		if now, err := os.Readlink(path); err == nil && now == socket {
			_ = os.Remove(path)
		}
	}, nil
}

// notLinked is the error of a link that cannot be made. The path is named once.
func notLinked(path string, err error) error {
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		err = link.Err
	} else if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	return fmt.Errorf("--listen: no link can be made at %s: %w", path, err)
}
