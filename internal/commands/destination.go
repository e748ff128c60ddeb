package commands

import (
	"errors"
	"fmt"
	"strconv"

	"ptyctl/internal/cli"

	"ptyctl/internal/destination"
	"ptyctl/term"
)

// destinationFlags are the flags of commands that reach a host, besides its name.
func destinationFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "user", Aliases: []string{"l"}, Usage: "log in as `NAME`"},
		&cli.IntFlag{Name: "port", Aliases: []string{"p"}, Usage: "connect to `PORT`"},
	}
}

// target turns [USER@]HOST[:PORT], or a URL of ssh or telnet, and destinationFlags into a target. Its protocol is empty
// where the text names none.
func target(c *cli.Context, text string) (term.Target, error) {
	d, err := destination.Parse(text)
	switch {
	case errors.Is(err, destination.ErrPassword): // which must not be shown once more
		return term.Target{}, usageError{
			errors.New("the host holds a password; give [USER@]HOST[:PORT] without it: it is asked for"),
		}
	case err != nil:
		return term.Target{}, usageError{
			fmt.Errorf("%q is no host: %w; give [USER@]HOST[:PORT], or an alias of your ssh_config", text, err),
		}
	}
	t := term.Target{Protocol: d.Protocol, Host: d.Host, User: c.String("user"), Port: c.Int("port")}
	for _, part := range []struct{ name, inText, flag string }{
		{"user", d.User, t.User}, {"port", portText(d.Port), portText(t.Port)},
	} {
		if part.inText != "" && part.flag != "" && part.inText != part.flag {
			return t, usageError{fmt.Errorf("%q names one %s and --%s another; leave one out", text, part.name, part.name)}
		}
	}
	if d.User != "" {
		t.User = d.User
	}
	if d.Port != 0 {
		t.Port = d.Port
	}
	return t, nil
}

// sshTarget is target for a command that is about SSH alone.
func sshTarget(c *cli.Context, text string) (term.Target, error) {
	t, err := target(c, text)
	if err == nil && t.Protocol == "telnet" {
		err = usageError{fmt.Errorf("%q is a host of Telnet, and %s is about SSH; use ptyctl open", text, c.Command.Name)}
	}
	t.Protocol = "ssh"
	return t, err
}

// portText returns a port as text, empty for none.
func portText(port int) string {
	if port == 0 {
		return ""
	}
	return strconv.Itoa(port)
}
