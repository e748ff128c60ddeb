package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"ptyctl/internal/cli"

	"ptyctl/control"
	"ptyctl/internal/app"
	"ptyctl/internal/attach"
	"ptyctl/internal/cliadvice"
	"ptyctl/internal/direct"
	"ptyctl/internal/logging"
	"ptyctl/mcpapi/identity"
	"ptyctl/profile"
)

// newApp makes a ptyctl within this process: open and exec reach hosts with the tools that an agent has. Its log goes
// to the configured file, never to stderr, where the person sees the session. The caller closes it with closeAll. Without
// names of tool sets it has those of a server by default.
func newApp(c *cli.Context, toolsets ...string) (a *app.App, closeAll func() error, err error) {
	cfg, err := fileConfig(c)
	if err != nil {
		return nil, nil, err
	}
	o, closeLog := app.Options{Version: c.App.Version, Toolsets: toolsets}, func() {}
	if cfg.Logging.File != "" {
		logs, err := logging.New(cfg.Logging)
		if err != nil {
			return nil, nil, err
		}
		o.Logger, closeLog = logs.Logger, logs.Close
	}
	a, err = app.ForCommand(cfg, o)
	if err != nil {
		closeLog()
		return nil, nil, err
	}
	return a, func() error {
		err := a.Close(c.Context)
		closeLog()
		return err
	}, nil
}

// atHost opens a terminal on host with a ptyctl within this process, and closes both when use has returned.
func atHost(
	c *cli.Context, host direct.Host, use func(*app.App, *control.Client, *attach.Attachment) error,
) (err error) {
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
	at, err := direct.Open(c.Context, on, host, attach.NewPerson(os.Stdin, c.App.ErrWriter), os.Stderr)
	if err != nil {
		return notReached(c, err)
	}
	return use(a, on, at)
}

// hostFlags say how to reach a host.
func hostFlags() []cli.Flag {
	return []cli.Flag{
		configFlag(),
		&cli.StringFlag{Name: "protocol", Value: "ssh", Usage: "one of ssh, telnet"},
		&cli.IntFlag{Name: "p", Aliases: []string{"port"}, Usage: "the host's `PORT`"},
		&cli.StringFlag{Name: "J", Usage: "jump hosts, as ssh -J"},
		&cli.StringFlag{
			Name:  "host-key",
			Usage: "the host key `POLICY`, one of " + strings.Join(hostKeyPolicies, ", ") + "; default as configured",
		},
		&cli.StringFlag{Name: "secret", Usage: "answer the host's login from this secret (`NAME`) of the configuration"},
		&cli.StringFlag{Name: "profile", Usage: "the device `FAMILY`; ptyctl profiles lists them"},
	}
}

// hostAt returns the host at [USER@]HOST[:PORT] or a URL, as hostFlags say to reach it. It refuses a host that no call
// could open, before a connection is made and a password asked.
func hostAt(c *cli.Context, where string) (direct.Host, error) {
	to, err := target(c, where)
	protocol := c.String("protocol")
	if to.Protocol != "" && c.IsSet("protocol") && to.Protocol != protocol {
		err = usageError{fmt.Errorf("%q names one protocol and --protocol another; leave one out", where)}
	}
	h := direct.Host{
		Protocol: cmp.Or(to.Protocol, protocol), Host: to.Host, User: to.User, Port: to.Port,
		Jump: c.String("J"), HostKeyPolicy: c.String("host-key"), Profile: c.String("profile"),
		Secret: c.String("secret"),
	}
	if err == nil {
		err = checkHost(h)
	}
	return h, err
}

// hostKeyPolicies are the values of --host-key.
var hostKeyPolicies = []string{"strict", "ask", "accept_new", "disabled"}

func checkHost(h direct.Host) error {
	_, known := profile.Get(h.Profile)
	switch {
	case h.Protocol != "ssh" && h.Protocol != "telnet":
		return usageError{fmt.Errorf("--protocol is %q; give ssh or telnet", h.Protocol)}
	case h.Secret != "" && h.Protocol != "ssh":
		return usageError{errors.New("--secret is for the login of SSH; at a Telnet host type it at its question")}
	case h.Port < 0 || h.Port > 65535:
		return usageError{fmt.Errorf("-p is %d; give a port from 1 to 65535", h.Port)}
	case h.HostKeyPolicy != "" && h.Protocol != "ssh" && h.Jump == "":
		return usageError{
			errors.New("--host-key is about SSH servers, and no -J names one; leave it out, or give --protocol ssh"),
		}
	case h.HostKeyPolicy != "" && !slices.Contains(hostKeyPolicies, h.HostKeyPolicy):
		return usageError{
			fmt.Errorf("--host-key is %q; give %s", h.HostKeyPolicy, strings.Join(hostKeyPolicies, ", ")),
		}
	case h.Profile != "" && !known:
		return usageError{
			fmt.Errorf("there is no --profile %q; ptyctl profiles lists the device families", h.Profile),
		}
	}
	return nil
}

// asPerson marks the calls of a command as a person's, for the audit log.
func asPerson(ctx context.Context) context.Context {
	return identity.WithCaller(ctx, identity.Caller{Transport: "cli", Operator: true, Message: cliadvice.Message})
}
