package tools

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/tools/paste"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/term"
)

// execute starts a command, or goes on with one.
func execute(ctx context.Context, c *toolset.Call, in *execArgs) (any, error) {
	switch {
	case in.Host != "":
		return onHost(ctx, c, in)
	case in.SessionID == "":
		return nil, c.Checker().Invalid("session_id", nil,
			"session_id is missing, and so is host: pass the session_id of an open session, or host to need none")
	}
	s, err := c.Session(ctx, term.VerbExec, in.SessionID)
	if err != nil {
		return nil, err
	}
	c.Waits("the command on "+s.ID(), s)
	more, err := in.wanted(c)
	if err != nil {
		return nil, err
	}
	res, err := exec(ctx, c, s, in, more)
	if err != nil {
		return nil, err
	}
	out := executed(c, s, in, res)
	out.Pasted = paste.New(ctx, res.Lines)
	return out, nil
}

// wanted describes the result. Also for exec_id: each call says for itself how much its client can show.
func (in *execArgs) wanted(c *toolset.Call) (session.ContinueRequest, error) {
	maxOutput := c.Lower("max_output_bytes", in.MaxOutput, c.Limits().MaxReadBytes, "limits.max_read_bytes")
	match, err := in.filter(c, formatOf(c, in.Format, ""))
	return session.ContinueRequest{MaxOutput: maxOutput, Match: match, New: true}, err
}

// executed makes the result of a call from the result of its command.
func executed(c *toolset.Call, s *session.Session, in *execArgs, res session.ExecResult) *execOut {
	if in.UntilIdleMS > 0 && (res.Lane == session.LaneChannel || res.Marked) {
		c.Warn("until_idle_ms means nothing here: this command's end is known, and ends the wait; " +
			"it is for devices, class unknown and rc_mode {enabled: false}")
	}
	inMilliseconds(c, "timeout_ms", in.TimeoutMS, res.TimedOut)
	i := s.Info()
	advise(c, in, res, i.About)
	if i.TerminalEnded != "" { // after open had answered
		c.Warn(i.TerminalEnded)
	}
	if in.ExecID != "" && in.TimeoutMS > 0 && !res.Moved {
		c.Inform("timeout_ms moved nothing: the command was over, or about to be stopped")
	}
	out := execResult(c, res, formatOf(c, in.Format, "") == formatRaw)
	out.session = s.ID()
	out.laneChosen = res.Lane == session.LaneTerminal && i.Protocol == "ssh" && in.ExecID == "" &&
		(in.Lane == "" || in.Lane == session.LaneAuto)
	return out
}

// exec starts, continues or cancels a command, as the arguments say. more describes the result.
func exec(
	ctx context.Context,
	c *toolset.Call,
	s *session.Session,
	in *execArgs,
	more session.ContinueRequest,
) (session.ExecResult, error) {
	ch := c.Checker()
	switch {
	case in.ExecID != "" && in.Cmd != "":
		return session.ExecResult{}, ch.Invalid(
			"exec_id",
			nil,
			"cmd and exec_id exclude each other: cmd starts a command, exec_id goes on with one",
		)
	case in.Cancel && in.ExecID == "":
		return session.ExecResult{}, ch.Invalid("exec_id", nil, "cancel needs exec_id: the command to stop")
	// An argument that has no effect is refused: the caller would take the command for changed.
	case in.ExecID != "" && c.Marked(in, "start") != "":
		name := c.Marked(in, "start")
		return session.ExecResult{}, ch.Invalid(
			name,
			[]string{
				"session_id", "exec_id", "wait_ms", "timeout_ms", "cancel", "max_output_bytes", "format", "match", "context",
				"task_id", "request_id",
			},
			"%s is for starting a command, and exec_id goes on with one that runs as it was started; leave %s out",
			name,
			name,
		)
	case in.Cancel && c.Marked(in, "wait") != "":
		name := c.Marked(in, "wait")
		return session.ExecResult{}, ch.Invalid(
			name,
			[]string{
				"session_id", "exec_id", "cancel", "max_output_bytes", "format", "match", "context", "task_id", "request_id",
			},
			"cancel stops the command now, and %s is for one that goes on; leave %s or cancel out",
			name,
			name,
		)
	// Before the plain continuation, because both give exec_id.
	case in.Cancel:
		return s.CancelExec(ctx, in.ExecID, more)
	case in.ExecID != "":
		more.Wait = execWait(c, in)
		more.Timeout = c.Millis("timeout_ms", in.TimeoutMS, c.Limits().MaxExecTimeout, "limits.max_exec_timeout_ms")
		return s.ContinueExec(ctx, in.ExecID, more)
	}
	r, err := startRequest(c, in, s.Expect().Pagers, more)
	if err != nil {
		return session.ExecResult{}, err
	}
	return s.Exec(ctx, r)
}

// startRequest returns the request for the command that the arguments start. pagers are the pagers of its session, and
// more describes the result.
func startRequest(
	c *toolset.Call, in *execArgs, pagers []*regexp.Regexp, more session.ContinueRequest,
) (session.ExecRequest, error) {
	ch := c.Checker()
	switch {
	case in.Cmd != "" && in.Argv != nil:
		return session.ExecRequest{}, ch.Invalid(
			"argv",
			nil,
			"cmd and argv exclude each other: cmd is a line for the shell there, argv is a program and its arguments",
		)
	case in.Argv != nil && (len(in.Argv) == 0 || in.Argv[0] == ""):
		return session.ExecRequest{}, ch.Invalid(
			"argv",
			nil,
			"argv needs a program as its first word, such as [\"ls\",\"-l\"]",
		)
	// The two want opposite things of a client that went away.
	case in.StopOnCancel && in.RequestID != "":
		return session.ExecRequest{}, ch.Invalid(
			"stop_on_cancel",
			nil,
			"stop_on_cancel and request_id exclude each other: "+
				"with request_id a command outlives the call that started it, for a retry to find",
		)
	case in.SudoSecret != "" && in.StdinSecret != "":
		return session.ExecRequest{}, ch.Invalid("stdin_secret", nil, "sudo_secret and stdin_secret exclude each other")
	case in.LoginSecret != "" && in.Host == "":
		return session.ExecRequest{}, ch.Invalid("login_secret", nil,
			"login_secret is for the login at host; this session is logged in, so leave it out")
	case in.Argv == nil && strings.TrimSpace(in.Cmd) == "":
		return session.ExecRequest{}, ch.Invalid(
			"cmd",
			nil,
			"cmd is empty: pass the command to run (or argv), or exec_id to go on with one",
		)
	}
	// auto_page alone is enough if the session already knows its pagers.
	expect, err := in.Expect.compile("expect", pagers)
	if err != nil {
		return session.ExecRequest{}, err
	}
	env, err := environment(ch, in.Env)
	if err != nil {
		return session.ExecRequest{}, err
	}
	stdin, err := toolset.Decode(ch, "stdin", in.Stdin, in.StdinEncoding)
	if err != nil {
		return session.ExecRequest{}, err
	}
	// The command's own deadline. It may be much longer than the wait of a call, which then returns the
	// exec_id.
	timeout, unattended := c.Limits().ExecTimeout, min(c.Limits().UnattendedExec, c.Limits().MaxExecTimeout)
	if in.TimeoutMS > 0 {
		timeout = c.Millis("timeout_ms", in.TimeoutMS, c.Limits().MaxExecTimeout, "limits.max_exec_timeout_ms")
		unattended = 0
	}
	idle := c.Millis("until_idle_ms", in.UntilIdleMS, c.Limits().MaxExecTimeout, "limits.max_exec_timeout_ms")
	if idle > timeout {
		return session.ExecRequest{}, ch.Invalid(
			"until_idle_ms",
			nil,
			"until_idle_ms (%d) is longer than timeout_ms (%d), so it could never be reached; raise timeout_ms",
			in.UntilIdleMS,
			timeout.Milliseconds(),
		)
	}
	return session.ExecRequest{
		Command: in.Cmd, Argv: in.Argv, Lane: in.Lane, Queue: in.Queue, StopOnCancel: in.StopOnCancel, Dir: in.Cwd,
		Env: env, Stdin: stdin,
		Timeout: timeout, Unattended: unattended, Wait: max(execWait(c, in), 1), // 0 would be as long as it takes
		MaxOutput: more.MaxOutput, Match: more.Match, Expect: expect,
		// The class from the caller overrides the one that ptyctl would detect.
		Class: session.Class(in.Class), Idle: idle,
		NoMarker: isFalse(in.RCMode.Enabled), MarkerPrefix: in.RCMode.Prefix, MarkerSuffix: in.RCMode.Suffix,
		Secret: session.ExecSecret{Name: in.SudoSecret + in.StdinSecret, Sudo: in.SudoSecret != ""},
	}, nil
}

// execWait is the longest that a call waits for its command.
func execWait(c *toolset.Call, in *execArgs) time.Duration {
	if in.WaitMS == nil {
		return c.Limits().MaxWait
	}
	return c.Millis("wait_ms", *in.WaitMS, c.Limits().MaxWait, "limits.max_wait_ms")
}

// environment splits NAME=value.
func environment(ch *schema.Checker, list []string) ([]term.EnvVar, error) {
	env := make([]term.EnvVar, len(list))
	for i, e := range list {
		name, value, ok := strings.Cut(e, "=")
		// No environment can hold a NUL: the far side would see another value than a rule has judged.
		if !ok || name == "" || strings.ContainsAny(e, "\x00") {
			path := fmt.Sprintf("env[%d]", i)
			return nil, ch.Invalid(path, nil, "%s must have the form NAME=value", path)
		}
		env[i] = term.EnvVar{Name: name, Value: value}
	}
	return env, nil
}

// execResult is the wire form of r, with its output as it came or for reading.
func execResult(c *toolset.Call, r session.ExecResult, raw bool) *execOut {
	out := &execOut{
		DoneReason: r.Done, TimedOut: r.TimedOut, DurationMS: r.Duration.Milliseconds(), ExecLane: r.Lane, ExecID: r.ID,
		ExitSignal: r.Exit.Signal, Killed: r.Exit.Killed, BackgroundOutput: r.Exit.Background, verdictOut: verdictOut{ErrorHints: r.ErrorHints},
		PromptDetected: r.Prompt, WaitingFor: (*wire.Waiting)(r.WaitingFor), StderrMerged: r.Lane == session.LaneTerminal,
		LostBytes: r.Lost, Pages: r.Pages,
		Warnings: c.Warnings(),
	}
	// exit_code is null rather than 0 if it is unknown: 0 would be read as success.
	if r.Exit.Known {
		out.ExitCode = &r.Exit.Code
	}
	if r.ExitReason != "" {
		out.ExitCodeReason = &r.ExitReason
	}
	out.RemainingMS = remaining(r)
	out.StdoutCursor, out.StderrCursor = startCursor(r.Stdout), startCursor(r.Stderr)
	out.Stdout, out.Stderr = out.put(r, raw)
	return out
}

// remaining returns the time in milliseconds until a running command is stopped, or nil.
func remaining(r session.ExecResult) *int64 {
	if r.Done != session.DoneRunning {
		return nil
	}
	ms := r.Remaining.Milliseconds()
	return &ms
}
