package fleet

import (
	"slices"
	"strings"

	"ptyctl/fleet"
	"ptyctl/fleet/groups"
	"ptyctl/fleet/nodes"
	"ptyctl/fleet/nodeset"
	"ptyctl/mcpapi/wire"
)

// runOut is the result of the actions run, status, cancel and diff.
type runOut struct {
	Action     string `json:"action"`
	FleetID    string `json:"fleet_id,omitempty" is:"listed"`
	DoneReason string `json:"done_reason" is:"listed"` // "running" or "done"
	Hosts      int    `json:"hosts" is:"listed"`

	Groups   []groupOut   `json:"groups,omitempty" is:"listed"`
	Rest     *restOut     `json:"rest,omitempty"` // the groups that are left out
	Failures []failureOut `json:"failures,omitempty" is:"listed"`
	NotRun   []namesOut   `json:"not_run,omitempty" is:"listed"`
	Running  *namesOut    `json:"running,omitempty"`
	Waiting  int          `json:"waiting,omitempty"` // hosts that may still begin
	Asks     int          `json:"logins_that_ask,omitempty"`

	DurationMS int64    `json:"duration_ms,omitempty"`
	Warnings   []string `json:"warnings,omitempty"`
}

// runCompact is a separate type, so that it has no Compact method.
type runCompact runOut

// reported is the shortest duration of a run that a compact result includes, in milliseconds.
const reported = 1000

// Compact leaves out the action and the ordinary end. If the groups contain all hosts, it also leaves out the number of
// hosts. It then leaves out the host names of the first group, too, if that group has more than half of the hosts and
// the other groups name all of theirs.
func (out *runOut) Compact() any {
	c := runCompact(*out)
	if c.Rest == nil && c.Running == nil && c.Waiting == 0 && len(c.Failures)+len(c.NotRun) == 0 {
		if len(c.Groups) > 1 && 2*c.Groups[0].N > c.Hosts && !slices.ContainsFunc(c.Groups[1:], func(g groupOut) bool { return g.cut() }) {
			c.Groups = slices.Clone(c.Groups)
			c.Groups[0].Hosts = ""
		}
		c.Hosts = 0
	}
	if c.Action = ""; c.DoneReason == "done" {
		c.DoneReason = ""
	}
	if c.DurationMS < reported {
		c.DurationMS = 0
	}
	return c
}

// A groupOut has the hosts that gave the same answer. For each stream it has the text, or the difference from the first
// group's text, or a note such as "same".
type groupOut struct {
	namesOut
	ExitCode   *int   `json:"exit_code,omitempty"` // absent for a copy; a compact result leaves out 0
	Stdout     string `json:"stdout,omitempty"`
	StdoutDiff string `json:"stdout_diff,omitempty"`
	StdoutNote string `json:"stdout_note,omitempty"`
	Stderr     string `json:"stderr,omitempty"`
	StderrDiff string `json:"stderr_diff,omitempty"`
	StderrNote string `json:"stderr_note,omitempty"`
	Truncated  bool   `json:"truncated,omitempty"`    // a stream is cut
	Bytes      int64  `json:"output_bytes,omitempty"` // full size of the streams that are cut

	copyOut
}

// groupCompact is a separate type, so that it has no Compact method.
type groupCompact groupOut

// Compact leaves out exit code 0: hosts without an exit code are in no group, but among the failures.
func (g groupOut) Compact() any {
	if g.ExitCode != nil && *g.ExitCode == 0 {
		g.ExitCode = nil
	}
	return groupCompact(g)
}

// A copyOut is the outcome of a copy, the same on each host of a group.
type copyOut struct {
	Outcome  string `json:"outcome,omitempty"` // "written" or "unchanged"
	Size     *int64 `json:"bytes,omitempty"`
	SHA256   string `json:"sha256,omitempty"`
	Verified *bool  `json:"verified,omitempty"`       // only false
	Changed  bool   `json:"source_changed,omitempty"` // while it was copied
}

// newCopyOut returns the wire form of a copy.
func newCopyOut(c fleet.Copied) copyOut {
	out := copyOut{Outcome: "written", Size: &c.Bytes, SHA256: c.SHA256, Changed: c.Changed}
	if c.Unchanged {
		out.Outcome = "unchanged"
	}
	if !c.Verified {
		out.Verified = &c.Verified
	}
	return out
}

// noteOf returns the note on a stream, beside its text or its difference.
func noteOf(s groups.Stream) string {
	if s.Same {
		return "same"
	}
	return s.Note
}

// A failureOut has the hosts without an exit code.
type failureOut struct {
	ErrorCode string `json:"error_code"`
	namesOut
	Last string `json:"last_line,omitempty"` // last line of output of the first host with output
}

// A restOut has the hosts of the groups that are left out.
type restOut struct {
	namesOut
	Groups    int    `json:"groups"`
	ExitCodes string `json:"exit_codes,omitempty"` // not of a copy
}

// A namesOut names hosts, and the reason that they share.
type namesOut struct {
	Hosts  string `json:"hosts"`
	N      int    `json:"n,omitempty"` // absent: 1
	Reason string `json:"reason,omitempty"`
}

// report fills in the results of a run so far.
func (out *runOut) report(r groups.Report) {
	for _, g := range r.Groups {
		a, b := g.Stdout, g.Stderr
		out.Groups = append(out.Groups, groupOut{
			namesOut: newNames(g.Names), ExitCode: &g.Exit,
			Stdout: a.Text, StdoutDiff: a.Diff, StdoutNote: noteOf(a), Stderr: b.Text, StderrDiff: b.Diff, StderrNote: noteOf(b),
			Truncated: a.Cut || b.Cut, Bytes: a.Bytes + b.Bytes,
		})
	}
	for _, f := range r.Failures {
		out.Failures = append(out.Failures, failureOut{f.Code, newNames(f.Names), f.Last})
	}
	for _, n := range r.NotRun {
		out.NotRun = append(out.NotRun, newNames(n))
	}
	if r.Rest.N > 0 {
		out.Rest = &restOut{newNames(r.Rest.Names), r.More, r.Rest.Exits}
	}
	for _, n := range r.Running {
		out.Running = new(newNames(n))
	}
}

// cut reports whether hosts are left out of the names.
func (n namesOut) cut() bool { return strings.HasSuffix(n.Hosts, "…") }

// newNames returns the wire form of host names.
func newNames(n groups.Names) namesOut {
	if n.N == 1 {
		return namesOut{n.Hosts, 0, n.Reason}
	}
	return namesOut{n.Hosts, n.N, n.Reason}
}

// The default sizes of results, in bytes. If hosts differ and the first group has more than a glance of output, the
// result is smaller: the differences matter more then than the common output.
const (
	defaultOutput = 2000
	glance        = 400
	differBase    = 350
	differEach    = 150 // for each group besides the first
)

// fitted returns the result of make with as much of the answers as fits into the given number of bytes of JSON; 0: the
// default.
func fitted(most int, make func(groups.Limits) *runOut) *runOut {
	if most <= 0 {
		most = defaultOutput
		if all := make(groups.Limits{Bytes: most}).Groups; len(all) > 1 && len(all[0].Stdout)+len(all[0].Stderr) > glance {
			return fit(most, min(differBase+differEach*(len(all)-1), most), make)
		}
	}
	return fit(most, most, make)
}

// fit is fitted with an initial limit for the text.
func fit(most, limit int, make func(groups.Limits) *runOut) *runOut {
	// Escapes make the JSON longer than the text, and a report limits the text.
	for tries := 5; ; tries-- {
		out := make(groups.Limits{Bytes: limit})
		text, err := wire.Compact(out)
		if err != nil || len(text) <= most || tries == 0 {
			return out
		}
		limit = max(limit*most/len(text)-20, 100)
	}
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
	report := run.Report(l)
	out.report(report)
	if run.Request().Copy == nil {
		return out
	}
	for i, g := range report.Groups { // instead of the output, which says the same
		out.Groups[i] = groupOut{namesOut: out.Groups[i].namesOut, copyOut: newCopyOut(run.Result(g.Labels()[0]).Copied)}
	}
	if out.Rest != nil {
		out.Rest.ExitCodes = ""
	}
	return out
}

// listOut is the result of the action status without a run.
type listOut struct {
	Action string    `json:"action"`
	Runs   []listRun `json:"runs" is:"listed" compact:"keep"`
}

// listCompact is a separate type, so that it has no Compact method.
type listCompact listOut

// Compact leaves out the action.
func (out *listOut) Compact() any {
	c := listCompact(*out)
	c.Action = ""
	return c
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
	Sources  []nodes.Count `json:"sources,omitempty"` // the sources that were read
	Warnings []string      `json:"warnings,omitempty"`
}

// hostsCompact is a separate type, so that it has no Compact method.
type hostsCompact hostsOut

// Compact leaves out the action.
func (out *hostsOut) Compact() any {
	c := hostsCompact(*out)
	c.Action = ""
	return c
}

// mostNamed is the most hosts with their addresses shown one by one.
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
