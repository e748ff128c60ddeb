package fleetrun

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"ptyctl/control"
	"ptyctl/internal/tty"
)

// Tool is the tool that is called.
const Tool = "ptyctl_fleet"

// An Order says in which order the hosts begin, which failures stop the rest, and how long the run may take. The tools
// that run over many hosts have these arguments in common.
type Order struct {
	Canary         int    `json:"canary,omitempty"`
	Batch          string `json:"batch,omitempty"`
	StopOnFailures string `json:"stop_on_failures,omitempty"`
	MaxParallel    int    `json:"max_parallel,omitempty"`
	OnRefused      string `json:"on_refused,omitempty"`
	Timeout        int64  `json:"timeout_ms,omitempty"`
	Deadline       int64  `json:"deadline_ms,omitempty"`
	Wait           int64  `json:"wait_ms,omitempty"`
	MaxOutput      int    `json:"max_output_bytes,omitempty"`
}

// A Call holds the arguments of a command on many hosts.
type Call struct {
	Action    string   `json:"action"`
	Hosts     []string `json:"hosts,omitempty"`
	Cmd       string   `json:"cmd,omitempty"`
	Argv      []string `json:"argv,omitempty"`
	FleetID   string   `json:"fleet_id,omitempty"`
	Normalize string   `json:"normalize,omitempty"`
	Order
}

// Options configure the output for a person.
type Options struct {
	Out         io.Writer
	Bar         *os.File // a terminal for the line of progress; nil: none
	JSON        bool     // the last result of the tool, in place of text
	Differences bool     // nothing of the answer that most hosts give
	Quiet       bool     // no answer at all, unless the run is interrupted
}

// An End is the outcome of a run.
type End struct {
	OK          bool // exit code 0 on all hosts
	Alike       bool // all hosts have given the same answer
	Interrupted bool
	FleetID     string
}

// A result is a result of the tool.
type result struct {
	Action     string
	FleetID    string `json:"fleet_id"`
	DoneReason string `json:"done_reason"`
	Hosts      int
	Groups     []group
	Rest       names // their output is left out
	Failures   []names
	NotRun     []names `json:"not_run"`
	Running    names
	Waiting    int
	Warnings   []string

	raw json.RawMessage
}

// A group has the hosts with one answer.
type group struct {
	Hosts      string
	N          int
	ExitCode   int `json:"exit_code"`
	Stdout     string
	StdoutDiff string `json:"stdout_diff"`
	StdoutNote string `json:"stdout_note"`
	Stderr     string
	StderrDiff string `json:"stderr_diff"`
	StderrNote string `json:"stderr_note"`
	Truncated  bool

	Outcome  string // of a copy, as all that follow
	Bytes    int64
	SHA256   string
	Verified *bool
	Changed  bool `json:"source_changed"`
}

// names are hosts, and the values that they have in common.
type names struct {
	Hosts     string
	N         int
	ErrorCode string `json:"error_code"`
	Reason    string
	Last      string `json:"last_line"`
	Exits     string `json:"exit_codes"`
}

// maxShown bounds the answers that a person is shown, in bytes.
const maxShown = 1 << 20

// How long one call waits: with and without a line of progress, and for the commands to stop.
const (
	stepWait = 200 * time.Millisecond
	longWait = 50 * time.Second
)

// Run runs the command of call, and shows the hosts' answers.
func Run(ctx context.Context, on *control.Client, call Call, o Options) (End, error) {
	// The first call is short, so that the id of the run is known when ctx ends.
	call.Wait, call.MaxOutput = stepWait.Milliseconds(), maxShown
	return o.run(ctx, on, Tool, call)
}

// run begins a run by a call of a tool, and follows it by the tool for many hosts.
func (o Options) run(ctx context.Context, on *control.Client, tool string, call any) (End, error) {
	wait := longWait
	if o.Bar != nil {
		wait = stepWait
	}
	var r result
	if err := ask(ctx, on, tool, call, &r); err != nil {
		return End{}, err
	}
	begun := r
	for r.DoneReason == "running" {
		o.progress(r)
		next := Call{Action: "status", FleetID: r.FleetID, Order: Order{Wait: wait.Milliseconds(), MaxOutput: maxShown}}
		err := ask(ctx, on, Tool, next, &r)
		if ctx.Err() != nil {
			return o.interrupted(context.WithoutCancel(ctx), on, r.FleetID)
		}
		if err != nil {
			return End{}, err
		}
	}
	o.clear()
	r.completes(begun)
	if o.Quiet {
		return r.end(), nil
	}
	return r.end(), o.show(r)
}

// completes copies into the last result of a run the fields that only the first result has: the action, and the
// warnings. Whether there is more than one call depends on the time that the hosts take.
func (r *result) completes(begun result) {
	if r.Action == begun.Action {
		return
	}
	// The action is the first of the fields.
	r.raw = bytes.Replace(r.raw, []byte(`"action":"`+r.Action+`"`), []byte(`"action":"`+begun.Action+`"`), 1)
	r.Action = begun.Action
	if warnings, err := json.Marshal(begun.Warnings); err == nil && len(begun.Warnings) > 0 && len(r.Warnings) == 0 {
		r.Warnings = begun.Warnings
		r.raw = append(bytes.TrimSuffix(bytes.TrimSpace(r.raw), []byte("}")), `,"warnings":`+string(warnings)+"}"...)
	}
}

// ask makes a call and reads its result.
func ask(ctx context.Context, on *control.Client, tool string, call any, r *result) error {
	var raw json.RawMessage
	if err := on.Call(ctx, tool, call, &raw); err != nil {
		return err
	}
	*r = result{raw: raw}
	if err := json.Unmarshal(raw, r); err != nil {
		return err
	}
	one := func(n *int, hosts string) { // the tool leaves a 1 out
		if *n == 0 && hosts != "" {
			*n = 1
		}
	}
	for i := range r.Groups {
		one(&r.Groups[i].N, r.Groups[i].Hosts)
	}
	for _, list := range [][]names{r.Failures, r.NotRun} {
		for i := range list {
			one(&list[i].N, list[i].Hosts)
		}
	}
	one(&r.Rest.N, r.Rest.Hosts)
	one(&r.Running.N, r.Running.Hosts)
	return nil
}

// interrupted stops the run, and shows the answers so far.
func (o Options) interrupted(ctx context.Context, on *control.Client, id string) (End, error) {
	o.clear()
	ctx, stop := context.WithTimeout(ctx, 2*time.Second+longWait/10)
	defer stop()
	var r result
	if err := ask(ctx, on, Tool, Call{Action: "cancel", FleetID: id, Order: Order{MaxOutput: maxShown}}, &r); err != nil {
		return End{Interrupted: true}, nil // the person has gone on, and the run ends with this process
	}
	return End{Interrupted: true}, o.show(r)
}

// end says how the run has ended.
func (r result) end() End {
	answered := len(r.Failures) == 0 && len(r.NotRun) == 0
	e := End{
		FleetID: r.FleetID, Alike: len(r.Groups) == 1 && r.Rest.N == 0 && answered,
		OK: answered && (r.Rest.N == 0 || r.Rest.Exits == "0" || r.Rest.Exits == ""), // a copy has no exit codes
	}
	for _, g := range r.Groups {
		e.OK = e.OK && g.ExitCode == 0
	}
	return e
}

// barWidth is the width of the bar in columns.
const barWidth = 30

// progress shows how far the run is, on one line.
func (o Options) progress(r result) {
	if o.Bar == nil {
		return
	}
	lost, odd := 0, 0
	for _, n := range r.Failures {
		lost += n.N
	}
	for _, g := range r.Groups {
		if g.ExitCode != 0 {
			odd += g.N
		}
	}
	done := r.Hosts - r.Running.N - r.Waiting
	full := 0
	if r.Hosts > 0 {
		full = done * barWidth / r.Hosts
	}
	text := fmt.Sprintf("[%s%s] %d of %d hosts, %d running", strings.Repeat("#", full), strings.Repeat(".", barWidth-full),
		done, r.Hosts, r.Running.N)
	if lost+odd > 0 {
		text += fmt.Sprintf(", %d failed", lost+odd)
	}
	fmt.Fprintf(o.Bar, "\r\x1b[K%s", text)
}

// clear removes the line of progress.
func (o Options) clear() {
	if o.Bar != nil {
		fmt.Fprint(o.Bar, "\r\x1b[K")
	}
}

// show prints a result.
func (o Options) show(r result) error {
	if o.JSON {
		_, err := o.Out.Write(append(r.raw, '\n'))
		return err
	}
	var b strings.Builder
	for i, g := range r.Groups {
		o.group(&b, i, g)
	}
	if r.Rest.N > 0 {
		fmt.Fprintf(&b, "%s (%d): %snot shown\n", tty.Printable(r.Rest.Hosts), r.Rest.N, r.Rest.exits())
	}
	for _, f := range r.Failures {
		fmt.Fprintf(&b, "%s (%d): %s: %s\n", tty.Printable(f.Hosts), f.N, f.ErrorCode, tty.Printable(f.Reason))
		if f.Last != "" {
			fmt.Fprintf(&b, "  last line: %s\n", tty.Printable(f.Last))
		}
	}
	for _, f := range r.NotRun {
		fmt.Fprintf(&b, "%s (%d): not run: %s\n", tty.Printable(f.Hosts), f.N, tty.Printable(f.Reason))
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", tty.Printable(w))
	}
	_, err := io.WriteString(o.Out, b.String())
	return err
}

// group prints the hosts with one answer, and the answer.
func (o Options) group(b *strings.Builder, i int, g group) {
	if g.Outcome != "" {
		g.copied(b)
		return
	}
	fmt.Fprintf(b, "%s (%d): exit %d\n", tty.Printable(g.Hosts), g.N, g.ExitCode)
	for _, s := range []struct {
		name, text, diff, note string
	}{{"stdout", g.Stdout, g.StdoutDiff, g.StdoutNote}, {"stderr", g.Stderr, g.StderrDiff, g.StderrNote}} {
		if o.Differences && i == 0 {
			continue
		}
		switch {
		case s.note != "":
			fmt.Fprintf(b, "  %s: %s\n", s.name, s.note)
		case s.diff != "":
			fmt.Fprintf(b, "  %s differs:\n", s.name)
		case s.text != "" && s.name == "stderr":
			b.WriteString("  stderr:\n")
		}
		indent(b, s.text+s.diff)
	}
	if g.Truncated {
		b.WriteString("  [more is left out]\n")
	}
}

// indent prints lines of an output, which so never look like ours.
func indent(b *strings.Builder, text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(b, "  %s\n", tty.Plain(strings.TrimSuffix(line, "\n")))
	}
}
