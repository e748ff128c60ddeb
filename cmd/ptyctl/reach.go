package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"ptyctl/config"
	"ptyctl/control"
)

// greeting is how long a process may take to answer at its socket before it counts as stuck.
const greeting = 5 * time.Second

// reachFlags say which process is meant.
func reachFlags() []cli.Flag {
	return []cli.Flag{
		configFlag(),
		&cli.StringFlag{Name: "socket", Usage: "the control socket at this `PATH` alone"},
		&cli.IntFlag{Name: "pid", Usage: "the ptyctl with this process `ID` alone"},
	}
}

// A peer is a running ptyctl that we are connected to.
type peer struct {
	control.Socket
	*control.Client
}

// String names the process.
func (p *peer) String() string {
	if p.PID == 0 {
		return "ptyctl at " + p.Path
	}
	return fmt.Sprintf("ptyctl (process %d)", p.PID)
}

// peers are the running processes that are meant.
type peers []*peer

// reach connects to every process that is meant. One that does not answer is told of on stderr.
func reach(c *cli.Context) (peers, error) {
	cfg, _, err := config.Load(config.Source{Path: c.String("config")})
	if err != nil {
		return nil, usageError{fmt.Errorf("the configuration is wrong:\n%w", err)}
	}
	sockets, err := socketsFor(c, cfg.Server.Control.ControlSocketPath)
	if err != nil {
		return nil, err
	}
	o := control.Options{Token: cfg.Server.Control.ControlAuthToken.Reveal(), Command: c.Command.Name, Version: version()}
	found := make(peers, len(sockets))
	failed := make([]error, len(sockets))
	var wg sync.WaitGroup
	for i, s := range sockets {
		wg.Go(func() {
			ctx, stop := context.WithTimeout(c.Context, greeting)
			defer stop()
			client, err := control.Dial(ctx, s.Path, o)
			if err != nil {
				failed[i] = err
				return
			}
			found[i] = &peer{s, client}
		})
	}
	wg.Wait()
	found = slices.DeleteFunc(found, func(p *peer) bool { return p == nil })
	switch err := errors.Join(failed...); {
	case err != nil && len(found) == 0:
		return nil, err
	case err != nil:
		fmt.Fprintf(os.Stderr, "ptyctl: %v\n", err)
	case len(found) == 0:
		return nil, errors.New(
			"no ptyctl of yours is running with a control socket; one is started by an MCP client, or by ptyctl mcp (control_mode disabled turns its socket off)",
		)
	}
	return found, nil
}

// socketsFor returns where the processes that are meant can be reached. configured is the path that the operator has
// given, if any.
func socketsFor(c *cli.Context, configured string) ([]control.Socket, error) {
	switch path, pid := c.String("socket"), c.Int("pid"); {
	case path != "" && pid != 0:
		return nil, usageError{errors.New("--socket and --pid exclude each other; give one of them")}
	case path != "":
		return []control.Socket{{Path: path}}, nil
	case pid != 0:
		path, err := control.Path(pid)
		return []control.Socket{{PID: pid, Path: path}}, err
	}
	all, err := control.Sockets()
	if configured != "" && !slices.ContainsFunc(all, func(s control.Socket) bool { return s.Path == configured }) {
		if _, bad := os.Lstat(configured); bad == nil {
			all = append(all, control.Socket{Path: configured})
		}
	}
	return all, err
}

// withSession makes the action of a command whose one argument is a session: do gets it.
func withSession(do func(c *cli.Context, e sessionEntry) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		args, err := arguments(c, 1, 1)
		if err != nil {
			return err
		}
		all, err := reach(c)
		if err != nil {
			return err
		}
		defer all.close()
		e, err := all.find(c.Context, args[0])
		if err != nil {
			return err
		}
		return do(c, e)
	}
}

func (all peers) close() {
	for _, p := range all {
		p.Close()
	}
}

// one returns the only process, or asks which one is meant.
func (all peers) one(otherwise string) (*peer, error) {
	if len(all) == 1 {
		return all[0], nil
	}
	names := make([]string, len(all))
	for i, p := range all {
		if names[i] = p.Path; p.PID != 0 {
			names[i] = strconv.Itoa(p.PID)
		}
	}
	return nil, fmt.Errorf(
		"%d ptyctl processes run (%s); choose one with --pid or --socket%s",
		len(all),
		strings.Join(names, ", "),
		otherwise,
	)
}

// A sessionEntry is a session as list shows it.
type sessionEntry struct {
	PID          int    `json:"pid,omitempty"` // of the process that has it; 0: its socket is called otherwise
	SessionID    string `json:"session_id"`
	SessionType  string `json:"session_type"`
	DeviceID     string `json:"device_id,omitempty"`
	Protocol     string `json:"protocol"`
	Host         string `json:"host"`
	State        string `json:"state"`
	EndReason    string `json:"end_reason,omitempty"`
	CreatedAt    int64  `json:"created_at"` // Unix milliseconds
	LastActivity int64  `json:"last_activity,omitempty"`
	LockHolder   string `json:"lock_holder,omitempty"`
	Waiting      bool   `json:"waiting_for_input,omitempty"`

	on *peer
}

// list returns the sessions of a process, the live ones first. more says that there are others.
func (p *peer) list(ctx context.Context) (entries []sessionEntry, more bool, err error) {
	var out struct {
		Sessions []sessionEntry
		More     bool
	}
	if err := p.Call(ctx, toolSession, sessionCall{Action: "list"}, &out); err != nil {
		return nil, false, fmt.Errorf("%v: %w", p, err)
	}
	for i := range out.Sessions {
		out.Sessions[i].PID, out.Sessions[i].on = p.PID, p
	}
	return out.Sessions, out.More, nil
}

// find returns the session that is meant by an id, or by the beginning of one.
func (all peers) find(ctx context.Context, id string) (sessionEntry, error) {
	var begins []sessionEntry
	for _, p := range all {
		var out statusResult
		switch err := p.Call(ctx, toolSession, sessionCall{Action: "status", SessionID: id}, &out); {
		case err == nil:
			out.Session.PID, out.Session.on = p.PID, p
			return out.Session.sessionEntry, nil
		case !isCode(err, "NOT_FOUND"):
			return sessionEntry{}, fmt.Errorf("%v: %w", p, err)
		}
		entries, _, err := p.list(ctx)
		if err != nil {
			return sessionEntry{}, err
		}
		for _, e := range entries {
			if strings.HasPrefix(e.SessionID, id) {
				begins = append(begins, e)
			}
		}
	}
	switch len(begins) {
	case 0:
		return sessionEntry{}, fmt.Errorf("there is no session %s; ptyctl sessions --all lists them", printable(id))
	case 1:
		return begins[0], nil
	}
	names := make([]string, len(begins))
	for i, e := range begins {
		names[i] = printable(e.SessionID)
	}
	return sessionEntry{}, fmt.Errorf(
		"%s is the beginning of %s; give more of the one that is meant",
		printable(id),
		strings.Join(names, ", "),
	)
}

func isCode(err error, code string) bool {
	e, ok := errors.AsType[*control.ToolError](err)
	return ok && e.Code == code
}
