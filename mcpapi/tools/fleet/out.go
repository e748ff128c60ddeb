package fleet

import (
	"ptyctl/fleet"
	"ptyctl/fleet/groups"
	"ptyctl/fleet/nodes"
	"ptyctl/fleet/nodeset"
)

// runOut is the result of the actions run, status, cancel and diff.
type runOut struct {
	Action     string `json:"action"`
	FleetID    string `json:"fleet_id,omitempty" is:"listed"`
	DoneReason string `json:"done_reason" is:"listed"` // "running" or "done"
	Hosts      int    `json:"hosts" is:"listed"`

	Groups   []groupOut   `json:"groups,omitempty" is:"listed"`
	More     int          `json:"more_groups,omitempty"` // whose output is left out
	Failures []failureOut `json:"failures,omitempty" is:"listed"`
	NotRun   []namesOut   `json:"not_run,omitempty" is:"listed"`
	Running  []namesOut   `json:"running,omitempty"`
	Waiting  int          `json:"waiting,omitempty"` // hosts that may still begin
	Asks     int          `json:"logins_that_ask,omitempty"`

	DurationMS int64    `json:"duration_ms,omitempty"`
	Warnings   []string `json:"warnings,omitempty"`
}

// runCompact is a type of its own, so that it has no compact form in turn.
type runCompact runOut

// reported is the least duration of a run that a compact result tells, in milliseconds.
const reported = 1000

// Compact leaves out the action and the ordinary end.
func (out *runOut) Compact() any {
	c := runCompact(*out)
	if c.Action = ""; c.DoneReason == "done" {
		c.DoneReason = ""
	}
	if c.DurationMS < reported {
		c.DurationMS = 0
	}
	return c
}

// A groupOut has the hosts with one answer.
type groupOut struct {
	Hosts      string `json:"hosts"`
	N          int    `json:"n"`
	ExitCode   int    `json:"exit_code" compact:"keep"`
	Stdout     string `json:"stdout,omitempty"`
	StdoutDiff string `json:"stdout_diff,omitempty"` // against that of the first group
	StdoutSame bool   `json:"stdout_same,omitempty"` // as that of the first group
	Stderr     string `json:"stderr,omitempty"`
	StderrDiff string `json:"stderr_diff,omitempty"`
	StderrSame bool   `json:"stderr_same,omitempty"`
	Cut        bool   `json:"truncated,omitempty"`    // something is left out of these
	Bytes      int64  `json:"output_bytes,omitempty"` // of both streams, if truncated
}

// A failureOut has the hosts without an exit code.
type failureOut struct {
	ErrorCode string `json:"error_code"`
	Hosts     string `json:"hosts"`
	N         int    `json:"n"`
	Reason    string `json:"reason,omitempty"`
}

// A namesOut has hosts, and what they have in common.
type namesOut struct {
	Hosts  string `json:"hosts"`
	N      int    `json:"n"`
	Reason string `json:"reason,omitempty"`
}

// report fills in what a run has said so far.
func (out *runOut) report(r groups.Report) {
	for _, g := range r.Groups {
		o := groupOut{Hosts: g.Hosts, N: g.N, ExitCode: g.Exit, Cut: g.Stdout.Cut || g.Stderr.Cut}
		o.Stdout, o.StdoutDiff, o.StdoutSame = g.Stdout.Text, g.Stdout.Diff, g.Stdout.Same
		o.Stderr, o.StderrDiff, o.StderrSame = g.Stderr.Text, g.Stderr.Diff, g.Stderr.Same
		if o.Cut {
			o.Bytes = g.Stdout.Bytes + g.Stderr.Bytes
		}
		out.Groups = append(out.Groups, o)
	}
	for _, f := range r.Failures {
		out.Failures = append(out.Failures, failureOut{f.Code, f.Hosts, f.N, f.Reason})
	}
	names := func(from []groups.Names) (list []namesOut) {
		for _, n := range from {
			list = append(list, namesOut{n.Hosts, n.N, n.Reason})
		}
		return list
	}
	out.NotRun, out.Running, out.More = names(r.NotRun), names(r.Running), r.More
}

// runResult makes the result of an action on a run.
func runResult(action string, run *fleet.Run, l groups.Limits) *runOut {
	c := run.Counts()
	out := &runOut{
		Action: action, FleetID: run.ID(), DoneReason: "running", Hosts: c.All, Waiting: c.Waiting, Asks: c.Asks,
		DurationMS: run.Took().Milliseconds(),
	}
	select {
	case <-run.Done():
		out.DoneReason = "done"
	default:
	}
	out.report(run.Report(l))
	return out
}

// listOut is the result of the action status without a run.
type listOut struct {
	Action string    `json:"action"`
	Runs   []listRun `json:"runs" is:"listed"`
}

// A listRun is a run in a list.
type listRun struct {
	FleetID    string `json:"fleet_id"`
	Cmd        string `json:"cmd"`
	DoneReason string `json:"done_reason"`
	Hosts      int    `json:"hosts"`
	OK         int    `json:"ok,omitempty"`
	Failed     int    `json:"failed,omitempty"` // with another exit code, or none
	NotRun     int    `json:"not_run,omitempty"`
}

// hostsOut is the result of the action hosts.
type hostsOut struct {
	Action   string        `json:"action"`
	Hosts    string        `json:"hosts"` // as a nodeset
	N        int           `json:"n" is:"listed"`
	Named    []nodes.Host  `json:"named,omitempty"`   // those with another address, user or port
	Sources  []nodes.Count `json:"sources,omitempty"` // those that were read
	Warnings []string      `json:"warnings,omitempty"`
}

// hostsCompact is a type of its own, so that it has no compact form in turn.
type hostsCompact hostsOut

// Compact leaves out the action.
func (out *hostsOut) Compact() any {
	c := hostsCompact(*out)
	c.Action = ""
	return c
}

// mostNamed is the most hosts whose ways are shown one by one.
const mostNamed = 50

// hostsResult shows a selection.
func hostsResult(s *nodes.Selection, sources []nodes.Count, warnings []string) *hostsOut {
	out := &hostsOut{Action: "hosts", N: len(s.Hosts), Sources: sources, Warnings: warnings}
	for _, h := range s.Hosts {
		if h.Address != "" && len(out.Named) < mostNamed {
			out.Named = append(out.Named, h)
		}
	}
	out.Hosts = nodeset.Fold(s.Labels())
	return out
}
