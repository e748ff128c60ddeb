package aiterm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/term"
)

// shellGrace is the time between TERM and KILL for a program that exceeds its timeout.
const shellGrace = 2 * time.Second

type shellArgs struct {
	programArgs
	TimeoutMS int64  `json:"timeout_ms" doc:"default {session.default_exec_timeout_ms limits.max_wait_ms}"`
	Stdin     string `json:"stdin" doc:"base64"`
}

// shellOut is the result of shell_run. Output beyond the operator's limit is cut in the
// middle.
type shellOut struct {
	RC              int    `json:"rc" is:"listed" doc:"128 + n after signal n"`
	Signal          string `json:"signal,omitempty" is:"listed"`
	Stdout          []byte `json:"stdout" is:"listed" doc:"base64"`
	Stderr          []byte `json:"stderr" is:"listed" doc:"base64"`
	StdoutTruncated bool   `json:"stdout_truncated" is:"listed"`
	StderrTruncated bool   `json:"stderr_truncated" is:"listed"`
	StdoutOmitted   *gap   `json:"stdout_omitted,omitempty" is:"listed"`
	StderrOmitted   *gap   `json:"stderr_omitted,omitempty" is:"listed"`
	DurationMS      int64  `json:"duration_ms" is:"listed" doc:"of the program"`
	Cwd             string `json:"cwd" is:"listed"`
	Usage           *usage `json:"usage,omitempty" is:"listed"`
	meta
}

// A gap is output that was left out of the middle of a stream.
type gap struct {
	At    int   `json:"at"` // offset in the output at which the bytes are missing
	Bytes int64 `json:"bytes"`
}

// usage is the program's use of resources, including its children.
type usage struct {
	CPUMS    int64 `json:"cpu_ms" is:"listed"`
	MaxRSSKB int64 `json:"max_rss_kb,omitempty" is:"listed"` // absent: unknown
}

// shellRun runs a program to its end without a terminal. The program ends with the call:
// after a cancellation no client could ask for its result.
func (s *Set) shellRun(ctx context.Context, c *call, in *shellArgs) (*shellOut, error) {
	local, err := c.program(in.programArgs)
	if err != nil {
		return nil, err
	}
	stdin, err := c.bytesOf("stdin", in.Stdin)
	if err != nil {
		return nil, err
	}
	o := c.Limits()
	timeout := min(o.ExecTimeout, o.MaxWait)
	if in.TimeoutMS > 0 {
		timeout = c.wait("timeout_ms", in.TimeoutMS)
	}
	c.Waits("the program", nil)
	r, err := c.Run(ctx, session.RunRequest{
		Target: term.Target{Protocol: "local", Local: local}, Stdin: stdin,
		Timeout: timeout, Grace: shellGrace, MaxOutput: o.MaxReadBytes, Once: true,
	})
	if err != nil {
		return nil, noSession(err, "the call was canceled, and the program with it")
	}
	out := newShellOut(r)
	switch {
	case r.TimedOut:
		return nil, &incomplete{&term.Error{Kind: term.ExecTimeout, Msg: fmt.Sprintf(
			"program stopped: it ran longer than %s; "+
				"details.result has its output. Pass a longer timeout_ms, up to %d "+
				"(limits.max_wait_ms), or use pty_open, which has no such limit",
			timeout,
			o.MaxWait.Milliseconds(),
		)}, out}
	case r.Exit.Limit != "" && r.Exit.Code == 0: // the program went on without the resource
		c.warnings = append(
			c.warnings,
			"program reached the operator's limit "+wire.LimitName(r.Exit.Limit)+" (see [local] in the configuration)",
		)
	case r.Exit.Limit != "":
		return nil, &incomplete{&term.Error{
			Kind: term.LimitExceeded, Facts: term.Facts{term.LimitReached{Limit: r.Exit.Limit}},
			Msg: "program stopped at the operator's limit " + wire.LimitName(r.Exit.Limit) +
				" (see [local] in the configuration); details.result has its output",
		}, out}
	case !r.Exit.Known:
		return nil, &incomplete{
			&term.Error{
				Kind: term.IOError,
				Msg: "exit code unknown: " + r.ExitReason +
					"; details.result has the output, its rc has no meaning",
			},
			out,
		}
	}
	return out, nil
}

// newShellOut converts the result of a program to the form of the contract.
func newShellOut(r session.RunResult) *shellOut {
	out := &shellOut{RC: r.Exit.Code, Signal: r.Exit.Signal, Cwd: r.Process.Dir, DurationMS: r.Duration.Milliseconds()}
	out.Stdout, out.StdoutOmitted = streamOf(r.Stdout)
	out.Stderr, out.StderrOmitted = streamOf(r.Stderr)
	out.StdoutTruncated, out.StderrTruncated = out.StdoutOmitted != nil, out.StderrOmitted != nil
	if u := r.Exit.Usage; u != (term.Usage{}) {
		out.Usage = &usage{u.CPU.Milliseconds(), u.MaxRSS}
	}
	return out
}

// streamOf returns the kept bytes of a stream and describes the gap in them, if there is
// one.
func streamOf(o session.Output) (data []byte, left *gap) {
	if !o.Complete() {
		left = &gap{At: len(o.Head), Bytes: o.Omitted()}
	}
	return append([]byte{}, o.Bytes()...), left
}

// noSession removes the session id from an error, because the caller never sees a session
// of that id. It replaces the message if the call was canceled.
func noSession(err error, canceled string) error {
	e, ok := errors.AsType[*term.Error](err)
	if !ok {
		return err
	}
	named := *e
	named.Session = ""
	if e.Kind == term.Canceled {
		named.Msg = canceled
	}
	return &named
}
