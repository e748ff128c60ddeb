package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"ptyctl/control"
	"ptyctl/term"
)

// DialTime is how long a process may take to answer at its socket before it counts as stuck.
const DialTime = 5 * time.Second

// A Process is a running ptyctl with a connection to its control socket.
type Process struct {
	control.Socket
	*control.Client
}

// String names the process.
func (p *Process) String() string {
	if p.PID == 0 {
		return "ptyctl at " + p.Path
	}
	return fmt.Sprintf("ptyctl (process %d)", p.PID)
}

// Options say which processes are meant: the one with Path, else the one with PID, else all.
type Options struct {
	Path string // of a control socket
	PID  int
	// Configured is the path of the control socket that the operator has configured, which may be in no folder that is
	// searched.
	Configured string

	control.Options
}

// Processes are running processes.
type Processes []*Process

// Connect connects to every process that is meant. unreached holds the failures of those that did not answer while
// others did.
func Connect(ctx context.Context, o Options) (found Processes, unreached, err error) {
	sockets, err := o.Sockets()
	if err != nil {
		return nil, nil, err
	}
	found = make(Processes, len(sockets))
	failed := make([]error, len(sockets))
	var wg sync.WaitGroup
	for i, s := range sockets {
		wg.Go(func() { found[i], failed[i] = Dial(ctx, s, o.Options) })
	}
	wg.Wait()
	found = slices.DeleteFunc(found, func(p *Process) bool { return p == nil })
	unreached = errors.Join(failed...)
	switch {
	case len(found) > 0:
		return found, unreached, nil
	case unreached != nil:
		return nil, nil, o.notRunning(unreached)
	}
	return nil, nil, term.Errorf(
		term.ConnectFailed,
		"no ptyctl of yours is running with a control socket; one is started by an MCP client, "+
			"or by ptyctl mcp (control_mode disabled turns its socket off)",
	)
}

// notRunning says that the process that is meant does not run, if that is why it was not reached.
func (o *Options) notRunning(err error) error {
	missing, refused := errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED)
	switch {
	case !missing && !refused || o.All():
		return err
	case o.Path == "":
		return &term.Error{Kind: term.ConnectFailed, Err: err, Msg: fmt.Sprintf("no ptyctl of yours with a control socket "+
			"has the process id %d; leave --pid out to reach those that run", o.PID)}
	}
	why := "there is no such file"
	if refused {
		why = "the one that made the socket has ended"
	}
	return &term.Error{Kind: term.ConnectFailed, Err: err, Msg: fmt.Sprintf(
		"no ptyctl listens at %s, because %s; leave --socket out to reach those that run", o.Path, why)}
}

// Dial connects to the process at one socket.
func Dial(ctx context.Context, s control.Socket, o control.Options) (*Process, error) {
	ctx, stop := context.WithTimeout(ctx, DialTime)
	defer stop()
	c, err := control.Dial(ctx, s.Path, o)
	if err != nil {
		return nil, err
	}
	return &Process{s, c}, nil
}

// All reports whether every process is meant, also those that begin later.
func (o *Options) All() bool { return o.Path == "" && o.PID == 0 }

// Sockets returns the sockets of the processes that are meant.
func (o *Options) Sockets() ([]control.Socket, error) {
	switch {
	case o.Path != "":
		return []control.Socket{{Path: o.Path}}, nil
	case o.PID != 0:
		path, err := control.Path(o.PID)
		return []control.Socket{{PID: o.PID, Path: path}}, err
	}
	all, err := control.Sockets()
	configured := func(s control.Socket) bool { return s.Path == o.Configured }
	if o.Configured != "" && !slices.ContainsFunc(all, configured) {
		if _, bad := os.Lstat(o.Configured); bad == nil {
			all = append(all, control.Socket{Path: o.Configured})
		}
	}
	return all, err
}

// Close ends the connections.
func (all Processes) Close() {
	for _, p := range all {
		p.Close()
	}
}

// One returns the only process. If there are several, the error asks which one is meant; otherwise is a further choice
// for its text.
func (all Processes) One(otherwise string) (*Process, error) {
	if len(all) == 1 {
		return all[0], nil
	}
	names := make([]string, len(all))
	for i, p := range all {
		if names[i] = p.Path; p.PID != 0 {
			names[i] = strconv.Itoa(p.PID)
		}
	}
	return nil, term.Errorf(
		term.InvalidArgument,
		"%d ptyctl processes run (%s); choose one with --pid or --socket%s",
		len(all),
		strings.Join(names, ", "),
		otherwise,
	)
}
