package aiterm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ptyctl/session"
	"ptyctl/term"
)

// shellGrace is how long a program has to obey TERM when its time is over, before it is killed.
const shellGrace = 2 * time.Second

type shellOut struct {
	RC              int    `json:"rc"` // 128 + n after signal n
	Signal          string `json:"signal,omitempty"`
	Stdout          []byte `json:"stdout"`
	Stderr          []byte `json:"stderr"`
	StdoutTruncated bool   `json:"stdout_truncated"`
	StderrTruncated bool   `json:"stderr_truncated"`
	StdoutOmitted   *gap   `json:"stdout_omitted,omitempty"`
	StderrOmitted   *gap   `json:"stderr_omitted,omitempty"`
	DurationMS      int64  `json:"duration_ms"` // of the program
	Cwd             string `json:"cwd"`
	Usage           *usage `json:"usage,omitempty"`
	meta
}

// A gap is what was left out in the middle of a stream.
type gap struct {
	At    int   `json:"at"` // where it would stand
	Bytes int64 `json:"bytes"`
}

type usage struct {
	CPUMS    int64 `json:"cpu_ms"`
	MaxRSSKB int64 `json:"max_rss_kb"`
}

func (s *Set) shellRun(ctx context.Context, c *call) (result, error) {
	var in struct {
		Argv      []string
		Cwd       string
		Env       map[string]string
		TimeoutMS int64 `json:"timeout_ms"`
		Stdin     string
	}
	if err := c.Args(&in); err != nil {
		return nil, err
	}
	local, err := c.program(in.Argv, in.Cwd, in.Env)
	if err != nil {
		return nil, err
	}
	stdin, err := c.bytesOf("stdin", in.Stdin)
	if err != nil {
		return nil, err
	}
	o := c.Options()
	timeout := min(o.ExecTimeout, o.MaxWait)
	if in.TimeoutMS > 0 {
		timeout = c.wait("timeout_ms", in.TimeoutMS)
	}
	c.Waits("the program", nil)
	r, err := o.Sessions.Run(ctx, session.RunRequest{
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
			"the program did not end within %s, and was ended; details.result has what it put out. Give it more time with timeout_ms, up to %d here (limits.max_wait_ms); "+
				"for what takes longer use pty_open, which has no such limit",
			timeout,
			o.MaxWait.Milliseconds(),
		)}, out}
	case r.Exit.Limit != "" && r.Exit.Code == 0: // it could do without
		c.warnings = append(
			c.warnings,
			"the program has met the operator's limit "+r.Exit.Limit+" (see [local] in the configuration)",
		)
	case r.Exit.Limit != "":
		return nil, &incomplete{&term.Error{
			Kind: term.LimitExceeded, Details: &term.Details{Limit: r.Exit.Limit},
			Msg: "the program has met the operator's limit " + r.Exit.Limit + " (see [local] in the configuration); details.result has what it put out",
		}, out}
	case !r.Exit.Known:
		return nil, &incomplete{
			&term.Error{
				Kind: term.IOError,
				Msg:  "how the program ended is not known (" + r.ExitReason + "); details.result has what it put out, without an rc that means anything",
			},
			out,
		}
	}
	return out, nil
}

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

func streamOf(o session.Output) (data []byte, left *gap) {
	if !o.Complete() {
		left = &gap{At: len(o.Head), Bytes: o.Omitted()}
	}
	return append([]byte{}, o.Bytes()...), left
}

// noSession is an error of what was to make a session, without the name of one that nobody will ever see.
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
