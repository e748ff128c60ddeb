package fleet

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"ptyctl/fleet"
	"ptyctl/fleet/batch"
	"ptyctl/fleet/groups"
	"ptyctl/fleet/nodes"
	"ptyctl/fleet/saved"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/term"
)

// do carries out a call of ptyctl_fleet.
func do(ctx context.Context, c *toolset.Call, in *args) (any, error) {
	switch c.Action() {
	case "run":
		return start(ctx, c, in)
	case "diff":
		return diff(ctx, c, in)
	case "hosts":
		book := toolset.Nodes(ctx, c)
		s, err := choose(c, book, "hosts", in.Hosts)
		if err != nil {
			return nil, err
		}
		return hostsResult(s, book.Sources(), c.Warnings()), nil
	}
	if in.FleetID == "" {
		return list(ctx, c), nil
	}
	run, err := toolset.Runs(c).Get(ctx, in.FleetID)
	if err != nil {
		return nil, err
	}
	if c.Action() == "cancel" {
		if err := run.Cancel(ctx); err != nil {
			return nil, err
		}
		in.WaitMS = new(stopTime.Milliseconds())
	}
	return wait(ctx, c, run, in.WaitMS, in.MaxOutput)
}

// stopTime is how long a cancel waits for the commands to stop.
const stopTime = 4 * time.Second

// start begins a run, and waits for it.
func start(ctx context.Context, c *toolset.Call, in *args) (any, error) {
	r, err := request(c, in)
	if err != nil {
		return nil, err
	}
	switch {
	case in.FleetID != "":
		last, err := toolset.Runs(c).Get(ctx, in.FleetID)
		if err != nil {
			return nil, err
		}
		if r.Hosts = last.Again(); len(r.Hosts) == 0 {
			return nil, c.Invalid("only", "no host of "+last.ID()+" has failed or was not run: there is nothing to run again")
		}
		if in.Cmd == "" && in.Argv == nil {
			if last.Request().Copy != nil {
				return nil, c.Invalid("cmd", "cmd is missing: "+last.ID()+" has copied a file; to copy it again, repeat the call "+
					"of ptyctl_fs, which leaves hosts alone that have it")
			}
			r.Command, r.Argv = last.Request().Command, last.Request().Argv
		}
	case len(in.Hosts) == 0:
		return nil, c.Invalid("hosts", "hosts is missing: name the hosts to run on")
	default:
		s, err := choose(c, toolset.Nodes(ctx, c), "hosts", in.Hosts)
		if err != nil {
			return nil, err
		}
		r.Hosts = targets(s.Hosts)
	}
	if strings.TrimSpace(r.Command) == "" && r.Argv == nil {
		return nil, c.Invalid("cmd", "cmd is missing, and so is argv: pass the command to run")
	}
	run, err := toolset.Runs(c).Run(ctx, r)
	if err != nil {
		return nil, err
	}
	return wait(ctx, c, run, in.WaitMS, in.MaxOutput)
}

// request reads the arguments of a run, apart from its hosts.
func request(c *toolset.Call, in *args) (r fleet.Request, err error) {
	switch {
	case in.Cmd != "" && in.Argv != nil:
		return r, c.Invalid("argv", "cmd and argv exclude each other: cmd is a line for the shell there, "+
			"argv is a program and its arguments")
	case in.Argv != nil && (len(in.Argv) == 0 || in.Argv[0] == ""):
		return r, c.Invalid("argv", "argv needs a program as its first word, such as [\"uptime\",\"-p\"]")
	case in.FleetID != "" && in.Only == "":
		return r, c.Invalid("only", "fleet_id needs only: say which of its hosts to run on again")
	case in.FleetID == "" && in.Only != "":
		return r, c.Invalid("fleet_id", "only needs fleet_id: the run whose hosts are meant")
	case in.FleetID != "" && len(in.Hosts) > 0:
		return r, c.Invalid("hosts", "hosts and fleet_id exclude each other: with fleet_id the hosts are those of that run")
	}
	r = fleet.Request{Command: in.Cmd, Argv: in.Argv, Normalize: in.Normalize, Timeout: c.Limits().ExecTimeout}
	err = Order{
		in.Canary, in.Batch, in.StopOnFailures, in.MaxParallel, in.OnRefused, in.TimeoutMS, in.DeadlineMS,
	}.set(c, &r)
	return r, err
}

// An Order holds the arguments that say in which order the hosts begin, what stops the rest, and how long they may
// take. Times are in milliseconds; 0 and "" leave the run's defaults.
type Order struct {
	Canary         int
	Batch          string
	StopOnFailures string
	MaxParallel    int
	OnRefused      string
	TimeoutMS      int64
	DeadlineMS     int64
}

// set sets them in the request.
func (o Order) set(c *toolset.Call, r *fleet.Request) (err error) {
	r.SkipRefused = o.OnRefused == "skip"
	r.Rules = batch.Rules{Canary: o.Canary, MaxParallel: o.MaxParallel}
	if o.TimeoutMS > 0 {
		r.Timeout = c.Millis("timeout_ms", o.TimeoutMS, c.Limits().MaxExecTimeout, "limits.max_exec_timeout_ms")
	}
	if o.DeadlineMS > 0 {
		r.Deadline = c.Millis("deadline_ms", o.DeadlineMS, c.Limits().MaxExecTimeout, "limits.max_exec_timeout_ms")
	}
	if r.Rules.Size, err = count(c, "batch", o.Batch); err != nil {
		return err
	}
	r.Rules.StopOnFailures, err = count(c, "stop_on_failures", o.StopOnFailures)
	return err
}

// count reads a number of hosts, or a percentage.
func count(c *toolset.Call, field, text string) (batch.Count, error) {
	if text == "" {
		return batch.Count{}, nil
	}
	number, percent := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(strings.TrimSpace(number))
	switch {
	case err != nil || n < 1 || percent && n > 100:
		return batch.Count{}, c.Invalid(field, field+" is no number of hosts: give a number from 1, or 1% to 100%")
	case percent:
		return batch.Count{Percent: n}, nil
	}
	return batch.Count{N: n}, nil
}

// choose returns the hosts that the expressions of an argument select. It informs the caller of the notes on the
// selection.
func choose(c *toolset.Call, book *nodes.Book, field string, expressions []string) (*nodes.Selection, error) {
	s, err := book.Select(expressions, toolset.Runs(c).MaxHosts())
	if e, ok := errors.AsType[*nodes.Error](err); ok {
		if e.Most > 0 {
			e.Reason += " (" + wire.LimitName(term.LimitFleetHosts) + ")"
		}
		return nil, c.Invalid(field, e.Reason)
	}
	if err != nil {
		return nil, err
	}
	for _, note := range s.Notes {
		c.Inform(note)
	}
	return s, nil
}

// targets returns the hosts of a selection as targets of a run.
func targets(list []nodes.Host) []fleet.Host {
	hosts := make([]fleet.Host, len(list))
	for i, h := range list {
		hosts[i] = fleet.Host{
			Label: h.Label, Names: []string{h.Name},
			Target: term.Target{Protocol: "ssh", Host: h.Target(), User: h.User, Port: h.Port},
		}
	}
	return hosts
}

// wait waits for a run, as long as the call may, or waitMS, and makes the result.
func wait(ctx context.Context, c *toolset.Call, run *fleet.Run, waitMS *int64, maxOutput int) (any, error) {
	limit := c.Left()
	if waitMS != nil {
		limit = min(limit, c.Millis("wait_ms", *waitMS, c.Limits().MaxWait, "limits.max_wait_ms"))
	}
	what := "the command on "
	if run.Request().Copy != nil {
		what = "the copy on "
	}
	c.Waits(what+strconv.Itoa(run.Counts().All)+" hosts", nil)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-run.Done():
	case <-timer.C:
	case <-ctx.Done():
		return nil, &term.Error{
			Op: "fleet", Kind: term.Canceled, Err: ctx.Err(),
			Msg: term.CanceledMsg(ctx, "the call was canceled; the run goes on: ptyctl_fleet status with fleet_id "+
				run.ID()+" waits for it, cancel stops it"),
		}
	}
	out := fitted(maxOutput, func(l groups.Limits) *runOut { return runResult(c.Action(), run, l) })
	out.Warnings = c.Warnings()
	return out, nil
}

// list shows the caller's runs.
func list(ctx context.Context, c *toolset.Call) *listOut {
	out := &listOut{Action: "status", Runs: []listRun{}}
	for _, run := range toolset.Runs(c).List(ctx) {
		n := run.Counts()
		one := listRun{
			FleetID: run.ID(), Cmd: term.ForeignLine(run.Command(), 200), DoneReason: "done", Hosts: n.All, OK: n.OK,
			Failed: n.Failed + n.Lost + n.Refused, NotRun: n.NotRun,
		}
		if n.Running+n.Waiting > 0 {
			one.DoneReason = "running"
		}
		out.Runs = append(out.Runs, one)
	}
	return out
}

// diff compares two runs, host by host.
func diff(ctx context.Context, c *toolset.Call, in *args) (any, error) {
	before, err := toolset.Runs(c).Get(ctx, in.Before)
	if err != nil {
		return nil, err
	}
	after, err := toolset.Runs(c).Get(ctx, in.After)
	if err != nil {
		return nil, err
	}
	normalize := groups.None
	if before.Request().Normalize == groups.Volatile || after.Request().Normalize == groups.Volatile {
		normalize = groups.Volatile
	}
	changes, n := saved.Changes(before.Answers(), after.Answers(), normalize)
	out := fitted(in.MaxOutput, func(l groups.Limits) *runOut {
		out := &runOut{Action: "diff", DoneReason: "done", Hosts: n}
		out.report(changes.Report(l))
		return out
	})
	out.Warnings = c.Warnings()
	return out, nil
}
