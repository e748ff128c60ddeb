package main

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"ptyctl/term"
)

// destinationFlags are the flags of commands that reach a host, besides its name.
func destinationFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "user", Aliases: []string{"l"}, Usage: "log in as `NAME`"},
		&cli.IntFlag{Name: "port", Aliases: []string{"p"}, Usage: "connect to `PORT`"},
	}
}

// destination turns [USER@]HOST[:PORT] and destinationFlags into a target. A host with colons of its own is an IPv6
// address, which has a port only in brackets.
func destination(c *cli.Context, text string) (term.Target, error) {
	t := term.Target{Protocol: "ssh", Host: text, User: c.String("user"), Port: c.Int("port")}
	if strings.Contains(text, "://") {
		return t, usageError{
			fmt.Errorf("%q is a URL; give [USER@]HOST[:PORT], and for Telnet --protocol telnet to open or exec", text),
		}
	}
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		if t.User != "" && t.User != text[:i] {
			return t, usageError{fmt.Errorf("%q names one user and --user another; leave one out", text)}
		}
		t.User, t.Host = text[:i], text[i+1:]
	}
	if host, port, err := net.SplitHostPort(t.Host); err == nil {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return t, usageError{fmt.Errorf("%q has the port %q; give a number from 1 to 65535", text, port)}
		}
		if t.Port != 0 && t.Port != int(n) {
			return t, usageError{fmt.Errorf("%q names one port and --port another; leave one out", text)}
		}
		t.Host, t.Port = host, int(n)
	}
	t.Host = strings.TrimSuffix(strings.TrimPrefix(t.Host, "["), "]")
	if t.Host == "" {
		return t, usageError{
			fmt.Errorf("%q names no host; give [USER@]HOST[:PORT], or an alias of your ssh_config", text),
		}
	}
	return t, nil
}
