package changes_test

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"sync"

	"ptyctl/internal/sshserver"
)

// A device is the command line of a router that pages its configuration; the head of it changes with each look.
type device struct {
	rows int           // of a page; 0: no pager
	hold chan struct{} // before the configuration is shown; nil: nothing

	mu    sync.Mutex // guards the following
	name  string
	looks int
	more  string // further lines of the configuration
}

// config returns the configuration. Its head is volatile.
func (d *device) config() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.looks++
	text := fmt.Sprintf("Building configuration...\n\nCurrent configuration : %d bytes\n!\n"+
		"! Last configuration change at 13:05:%02d UTC Mon Mar 1 2021 by admin\n!\nversion 15.2\nhostname %s\n!\n%sntp clock-period 1717%d\nend\n",
		3000+d.looks, d.looks, d.name, d.more, d.looks)
	return strings.SplitAfter(strings.TrimSuffix(text, "\n")+"\n", "\n")
}

// set changes the name, and adds lines to the configuration.
func (d *device) set(name, more string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.name, d.more = name, more
}

// serve is the device's terminal. It runs no command beside it.
func (d *device) serve(_ context.Context, r *sshserver.Request) sshserver.Exit {
	if !r.Shell {
		return sshserver.Exit{Status: 99}
	}
	in := bufio.NewReader(r.Stdin)
	mode := ""
	for {
		fmt.Fprint(r.Stdout, "r1"+mode+"#")
		line, err := in.ReadString('\r')
		if err != nil {
			return sshserver.Exit{}
		}
		line = strings.TrimSuffix(line, "\r")
		fmt.Fprint(r.Stdout, line, "\r\n")
		name, named := strings.CutPrefix(line, "hostname ")
		switch {
		case line == "":
		case line == "configure terminal":
			mode = "(config)"
		case line == "end":
			mode = ""
		case named && mode != "":
			d.set(name, "")
		case line == "show running-config" && mode == "":
			if d.hold != nil {
				<-d.hold
			}
			for i, text := range d.config() {
				if d.rows > 0 && i > 0 && i%d.rows == 0 {
					fmt.Fprint(r.Stdout, " --More-- ")
					if _, err := in.ReadByte(); err != nil {
						return sshserver.Exit{}
					}
					fmt.Fprint(r.Stdout, "\r          \r")
				}
				fmt.Fprint(r.Stdout, strings.ReplaceAll(text, "\n", "\r\n"))
			}
		default:
			fmt.Fprint(r.Stdout, "          ^\r\n% Invalid input detected at '^' marker.\r\n")
		}
	}
}
