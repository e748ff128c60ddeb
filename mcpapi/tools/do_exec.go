package tools

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/term"
)

func execute(ctx context.Context, c *toolset.Call, in *execArgs) (any, error) {
	s, err := c.Session(ctx, term.VerbExec, in.SessionID)
	if err != nil {
		return nil, err
	}
	c.Waits("the command on "+s.ID(), s)
	// Also for exec_id: each call says for itself how much its client can show.
	maxOutput := c.Lower("max_output_bytes", in.MaxOutput, c.Limits().MaxReadBytes, "limits.max_read_bytes")
	res, err := exec(ctx, c, s, in, maxOutput)
	if err != nil {
		return nil, err
	}
	return execResult(c, res), nil
}

// exec starts, continues or cancels a command, as the arguments say.
func exec(
	ctx context.Context,
	c *toolset.Call,
	s *session.Session,
	in *execArgs,
	maxOutput int,
) (session.ExecResult, error) {
	ch := c.Checker()
	switch {
	case in.ExecID != "" && in.Cmd != "":
		return session.ExecResult{}, ch.Invalid(
			"exec_id",
			nil,
			"cmd and exec_id exclude each other: cmd starts a command, exec_id goes on with one",
		)
	case in.Cmd != "" && in.Argv != nil:
		return session.ExecResult{}, ch.Invalid(
			"argv",
			nil,
			"cmd and argv exclude each other: cmd is a line for the shell there, argv is a program and its arguments",
		)
	case in.Argv != nil && (len(in.Argv) == 0 || in.Argv[0] == ""):
		return session.ExecResult{}, ch.Invalid(
			"argv",
			nil,
			"argv needs a program as its first word, such as [\"ls\",\"-l\"]",
		)
	case in.Cancel && in.ExecID == "":
		return session.ExecResult{}, ch.Invalid("exec_id", nil, "cancel needs exec_id: the command to stop")
	// An argument that has no effect is refused: the caller would take the command for changed.
	case in.ExecID != "" && c.Marked(in, "start") != "":
		name := c.Marked(in, "start")
		return session.ExecResult{}, ch.Invalid(
			name,
			[]string{"session_id", "exec_id", "cancel", "max_output_bytes", "task_id"},
			"%s is for starting a command, and exec_id goes on with one that runs as it was started; leave %s out",
			name,
			name,
		)
	// Before the plain continuation, because both give exec_id.
	case in.Cancel:
		return s.CancelExec(ctx, in.ExecID, session.ContinueRequest{MaxOutput: maxOutput})
	case in.ExecID != "":
		return s.ContinueExec(ctx, in.ExecID, session.ContinueRequest{Wait: c.Limits().MaxWait, MaxOutput: maxOutput})
	// The two want opposite things of a client that went away.
	case in.StopOnCancel && in.RequestID != "":
		return session.ExecResult{}, ch.Invalid(
			"stop_on_cancel",
			nil,
			"stop_on_cancel and request_id exclude each other: "+
				"with request_id a command outlives the call that started it, for a retry to find",
		)
	case in.Argv == nil && strings.TrimSpace(in.Cmd) == "":
		return session.ExecResult{}, ch.Invalid(
			"cmd",
			nil,
			"cmd is empty: pass the command to run (or argv), or exec_id to go on with one",
		)
	}
	// auto_page alone is enough where the session already knows its pagers.
	expect, err := in.Expect.compile("expect", s.Expect().Pagers)
	if err != nil {
		return session.ExecResult{}, err
	}
	env, err := environment(ch, in.Env)
	if err != nil {
		return session.ExecResult{}, err
	}
	stdin, err := decodeText(ch, "stdin", in.Stdin, in.StdinEncoding)
	if err != nil {
		return session.ExecResult{}, err
	}
	// The command's own deadline. It may be much longer than the wait of a call, which then returns the
	// exec_id.
	timeout := c.Limits().ExecTimeout
	if in.TimeoutMS > 0 {
		timeout = c.Millis("timeout_ms", in.TimeoutMS, c.Limits().MaxExecTimeout, "limits.max_exec_timeout_ms")
	}
	wait := c.Limits().MaxWait
	return s.Exec(ctx, session.ExecRequest{
		Command: in.Cmd, Argv: in.Argv, Lane: in.Lane, Queue: in.Queue, StopOnCancel: in.StopOnCancel, Dir: in.Cwd,
		Env: env, Stdin: stdin,
		Timeout: timeout, Wait: wait, MaxOutput: maxOutput, Expect: expect,
		// The class is the caller's word, and goes before what ptyctl would find out.
		Class:    session.Class(in.Class),
		Idle:     c.Millis("until_idle_ms", in.UntilIdleMS, c.Limits().MaxExecTimeout, "limits.max_exec_timeout_ms"),
		NoMarker: isFalse(in.RCMode.Enabled), MarkerPrefix: in.RCMode.Prefix, MarkerSuffix: in.RCMode.Suffix,
	})
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

// decodeText decodes text in one of the encodings of the wire.
func decodeText(ch *schema.Checker, path, text, encoding string) ([]byte, error) {
	if encoding != "base64" {
		return []byte(text), nil
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, ch.Invalid(
			path,
			nil,
			"%s is not valid base64 (%v); encode it with the standard alphabet and padding, or leave encoding out",
			path,
			err,
		)
	}
	return b, nil
}

// execResult is the wire form of r.
func execResult(c *toolset.Call, r session.ExecResult) *execOut {
	out := &execOut{
		DoneReason: r.Done, TimedOut: r.TimedOut, DurationMS: r.Duration.Milliseconds(), ExecLane: r.Lane, ExecID: r.ID,
		ExitSignal: r.Exit.Signal, Killed: r.Exit.Killed, BackgroundOutput: r.Exit.Background, ErrorHints: r.ErrorHints,
		PromptDetected: r.Prompt, WaitingFor: (*wire.Waiting)(r.WaitingFor), StderrMerged: r.Lane == session.LaneTerminal,
		LostBytes: r.Lost, Pages: r.Pages,
		Truncated: !r.Stdout.Complete() || !r.Stderr.Complete(), Warnings: c.Warnings(),
	}
	// exit_code is null rather than 0 where it is not known: 0 would be read as success.
	if r.Exit.Known {
		out.ExitCode = &r.Exit.Code
	}
	if r.ExitReason != "" {
		out.ExitCodeReason = &r.ExitReason
	}
	out.Stdout, out.StdoutEncoding, out.StdoutBytes, out.StdoutOmitted = streamOut(r.Stdout)
	out.Stderr, out.StderrEncoding, out.StderrBytes, out.StderrOmitted = streamOut(r.Stderr)
	return out
}

// streamOut is the wire form of a stream: text if all of it is UTF-8, with the cut marked; else base64.
func streamOut(o session.Output) (text, encoding string, total int64, cut *omitted) {
	if !o.Complete() {
		// The middle can still be read: the head's length is the cursor at which it begins.
		cut = &omitted{At: len(o.Head), Bytes: o.Omitted(), Cursor: strconv.Itoa(len(o.Head))}
	}
	whole := o.Bytes()
	switch {
	case cut == nil && utf8.Valid(whole):
		return string(whole), "", o.Total, nil
	// The two ends are judged apart: the cut may lie within a character, which is no reason for base64 where
	// both are whole.
	case cut == nil || !utf8.Valid(o.Head) || !utf8.Valid(o.Tail):
		return base64.StdEncoding.EncodeToString(whole), "base64", o.Total, cut
	}
	return fmt.Sprintf("%s\n[... %d bytes left out ...]\n%s", o.Head, cut.Bytes, o.Tail), "", o.Total, cut
}
