package tools

import (
	"context"
	"time"

	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/term"
)

// run starts a program on this machine, and waits for its end or for the longest time that a call may wait. A program
// that still runs goes on as a session.
func run(ctx context.Context, c *toolset.Call, in *runArgs) (any, error) {
	ch := c.Checker()
	local, err := local(c, in.Argv, in.Cwd, in.Env, in.Title, in.Limits)
	if err != nil {
		return nil, err
	}
	if len(in.Argv) == 0 {
		return nil, ch.Invalid("argv", nil, "argv is empty: pass the program and its arguments")
	}
	stdin, err := toolset.Decode(ch, "stdin", in.Stdin, in.StdinEncoding)
	if err != nil {
		return nil, err
	}
	format := formatOf(c, in.Format, "")
	match, err := in.filter(c, format)
	if err != nil {
		return nil, err
	}
	limits := c.Limits()
	r := session.RunRequest{
		Target: term.Target{Protocol: "local", Local: local}, Stdin: stdin,
		Timeout: limits.ExecTimeout, Wait: limits.MaxWait, Grace: time.Duration(in.GraceMS) * time.Millisecond,
		Unattended: min(limits.UnattendedExec, limits.MaxExecTimeout),
		MaxOutput:  c.Lower("max_output_bytes", in.MaxOutput, limits.MaxReadBytes, "limits.max_read_bytes"),
		Match:      match,
	}
	// Absent means the default of the server and not "no limit": a forgotten program would hold its memory.
	if in.TimeoutMS > 0 {
		r.Timeout = c.Millis("timeout_ms", in.TimeoutMS, c.Limits().MaxExecTimeout, "limits.max_exec_timeout_ms")
		r.Unattended = 0
	}
	res, err := c.Run(ctx, r)
	if err != nil {
		return nil, err
	}
	inMilliseconds(c, "timeout_ms", in.TimeoutMS, res.TimedOut)
	if res.Exit.Known && res.Exit.Code != 0 && in.Stdin == "" && wantsTerminal(res.ExecResult) {
		c.Warn("the program needs a terminal, and has none here; open a session with it (ptyctl_session open, " +
			"protocol local, the same argv), and answer what it asks with ptyctl_session_io write")
	}
	return runResult(c, res, local.Limits, format == formatRaw), nil
}

// runResult is the wire form of r: that of an exec, without the members that need a terminal.
func runResult(c *toolset.Call, r session.RunResult, asked term.Limits, raw bool) *runOut {
	out := &runOut{
		DoneReason: r.Done, TimedOut: r.TimedOut, DurationMS: r.Duration.Milliseconds(), Cwd: r.Process.Dir,
		SessionID: r.Session, ExecID: r.ID,
		ExitReason: r.ExitReason, Killed: r.Exit.Killed, LimitMet: wire.LimitName(r.Exit.Limit),
		Suspected: wire.LimitNames(r.Exit.Suspected),
		Warnings:  append(c.Warnings(), lowered(asked, r.Process.Limits)...),
	}
	out.RemainingMS = remaining(r.ExecResult)
	// Nil while the program runs: its usage is known only from its end.
	out.ExitCode, out.ExitSignal, out.Usage = wire.Exit(r.Exit)
	out.Stdout, out.Stderr = out.put(r.ExecResult, raw)
	return out
}
