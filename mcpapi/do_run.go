package mcpapi

import (
	"context"
	"strings"
	"time"

	"ptyctl/session"
	"ptyctl/term"
)

// runArgs are the arguments of ptyctl_run.
type runArgs struct {
	Argv          []string
	Cwd           string
	Env           []string
	Stdin         string
	StdinEncoding string `json:"stdin_encoding"`
	TimeoutMS     int64  `json:"timeout_ms"`
	GraceMS       int64  `json:"grace_ms"`
	MaxOutput     int64  `json:"max_output_bytes"`
	Limits        limitsArgs
	Title         string
	RequestID     string `json:"request_id"`
}

// runOut is the result of ptyctl_run.
type runOut struct {
	RC         *int               `json:"rc"`
	Signal     string             `json:"signal,omitempty"`
	RCReason   string             `json:"rc_reason,omitempty"` // why rc is null
	Stdout     string             `json:"stdout"`
	Stderr     string             `json:"stderr"`
	DoneReason session.DoneReason `json:"done_reason"`
	TimedOut   bool               `json:"timed_out"`
	DurationMS int64              `json:"duration_ms"`
	Cwd        string             `json:"cwd,omitempty"`
	Usage      *usage             `json:"usage,omitempty"`
	LimitMet   string             `json:"limit_exceeded,omitempty"`
	Suspected  []string           `json:"limit_suspected,omitempty"`
	Truncated  bool               `json:"truncated"`

	SessionID      string   `json:"session_id,omitempty"` // where the rest is, with exec_id
	ExecID         string   `json:"exec_id,omitempty"`
	Killed         string   `json:"killed,omitempty"`
	StdoutEncoding string   `json:"stdout_encoding,omitempty"`
	StderrEncoding string   `json:"stderr_encoding,omitempty"`
	StdoutBytes    int64    `json:"stdout_bytes,omitempty"`
	StderrBytes    int64    `json:"stderr_bytes,omitempty"`
	StdoutOmitted  *omitted `json:"stdout_omitted,omitempty"`
	StderrOmitted  *omitted `json:"stderr_omitted,omitempty"`
	Warnings       []string `json:"warnings,omitempty"`
}

func (c *invocation) doRun(ctx context.Context) (any, error) {
	var in runArgs
	if err := c.args(&in); err != nil {
		return nil, err
	}
	ch := checker{t: c.tool}
	local, err := c.local(in.Argv, in.Cwd, in.Env, in.Title, in.Limits)
	if err != nil {
		return nil, err
	}
	if len(in.Argv) == 0 {
		return nil, ch.invalid("argv", nil, "argv is empty: pass the program and its arguments")
	}
	stdin, err := ch.bytes("stdin", in.Stdin, in.StdinEncoding)
	if err != nil {
		return nil, err
	}
	r := session.RunRequest{
		Target: term.Target{Protocol: "local", Local: local}, Stdin: stdin, Timeout: c.o.ExecTimeout, Wait: c.o.MaxWait,
		Grace: time.Duration(
			in.GraceMS,
		) * time.Millisecond, MaxOutput: c.lower("max_output_bytes", in.MaxOutput, c.o.MaxReadBytes, "limits.max_read_bytes"),
	}
	if in.TimeoutMS > 0 {
		r.Timeout = c.millis("timeout_ms", in.TimeoutMS, c.o.MaxExecTimeout, "limits.max_exec_timeout_ms")
	}
	res, err := c.m.Run(c.acting(ctx, ""), r)
	if err != nil {
		return nil, err
	}
	return c.runResult(res, local.Limits), nil
}

// runResult is the wire form of r, which is that of an exec but for what a terminal would have to do with it.
func (c *invocation) runResult(r session.RunResult, asked term.Limits) *runOut {
	out := &runOut{
		DoneReason: r.Done, TimedOut: r.TimedOut, DurationMS: r.Duration.Milliseconds(), Cwd: r.Process.Dir, SessionID: r.Session, ExecID: r.ID,
		RCReason: r.ExitReason, Killed: r.Exit.Killed, LimitMet: r.Exit.Limit, Suspected: strings.Fields(r.Exit.Suspected),
		Truncated: !r.Stdout.Complete() ||
			!r.Stderr.Complete(), Warnings: append(c.notes, lowered(asked, r.Process.Limits)...),
	}
	out.RC, out.Signal, out.Usage = exitOf(r.Exit)
	out.Stdout, out.StdoutEncoding, out.StdoutBytes, out.StdoutOmitted = streamOut(r.Stdout)
	out.Stderr, out.StderrEncoding, out.StderrBytes, out.StderrOmitted = streamOut(r.Stderr)
	return out
}
