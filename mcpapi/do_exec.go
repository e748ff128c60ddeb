package mcpapi

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"ptyctl/session"
	"ptyctl/term"
)

// execArgs are the arguments of ptyctl_session_exec.
type execArgs struct {
	SessionID     string `json:"session_id"`
	Cmd           string
	Argv          []string
	TimeoutMS     int64 `json:"timeout_ms"`
	Cwd           string
	Env           []string
	Stdin         string
	StdinEncoding string `json:"stdin_encoding"`
	MaxOutput     int64  `json:"max_output_bytes"`
	Lane          session.Lane
	Queue         bool
	ExecID        string `json:"exec_id"`
	StopOnCancel  bool   `json:"stop_on_cancel"`
	Cancel        bool
	TaskID        string `json:"task_id"`
	Expect        expectArgs
	UntilIdleMS   int64 `json:"until_idle_ms"`
	Class         session.Class
	RCMode        struct {
		Enabled *bool
		Prefix  string `json:"marker_prefix"`
		Suffix  string `json:"marker_suffix"`
	} `json:"rc_mode"`
	RequestID string `json:"request_id"`
}

// execOut is the result of ptyctl_session_exec.
type execOut struct {
	Stdout         string             `json:"stdout"`
	Stderr         string             `json:"stderr"`
	ExitCode       *int               `json:"exit_code"`
	ExitCodeReason *string            `json:"exit_code_reason"`
	DoneReason     session.DoneReason `json:"done_reason"`
	PromptDetected *bool              `json:"prompt_detected"`
	TimedOut       bool               `json:"timed_out"`
	DurationMS     int64              `json:"duration_ms"`
	ExecLane       session.Lane       `json:"exec_lane"`
	Truncated      bool               `json:"truncated"`

	ExecID           string        `json:"exec_id,omitempty"`
	WaitingFor       *term.Waiting `json:"waiting_for,omitempty"`
	StderrMerged     bool          `json:"stderr_merged,omitempty"` // into stdout: a terminal has one stream
	LostBytes        int64         `json:"lost_bytes,omitempty"`
	Pages            int           `json:"pages,omitempty"` // turned by auto_page
	ExitSignal       string        `json:"exit_signal,omitempty"`
	Killed           string        `json:"killed,omitempty"`
	BackgroundOutput bool          `json:"background_output,omitempty"`
	StdoutEncoding   string        `json:"stdout_encoding,omitempty"`
	StderrEncoding   string        `json:"stderr_encoding,omitempty"`
	StdoutBytes      int64         `json:"stdout_bytes,omitempty"`
	StderrBytes      int64         `json:"stderr_bytes,omitempty"`
	StdoutOmitted    *omitted      `json:"stdout_omitted,omitempty"`
	StderrOmitted    *omitted      `json:"stderr_omitted,omitempty"`
	ErrorHints       []string      `json:"error_hints,omitempty"`
	Warnings         []string      `json:"warnings,omitempty"`
}

// omitted says which part of a stream is not in the result, and where it stood.
type omitted struct {
	At     int    `json:"at"` // offset within the returned stream, decoded, at which the cut is
	Bytes  int64  `json:"bytes"`
	Cursor string `json:"cursor"` // to read it with ptyctl_session_io read {exec_id, stream, cursor}
}

func (c *invocation) doExec(ctx context.Context) (any, error) {
	var in execArgs
	if err := c.args(&in); err != nil {
		return nil, err
	}
	ctx = c.acting(ctx, in.TaskID)
	s, err := c.m.GetFor(ctx, term.VerbExec, in.SessionID)
	if err != nil {
		return nil, err
	}
	c.meter.waits("the command on "+s.ID(), s)
	maxOutput := c.lower("max_output_bytes", in.MaxOutput, c.o.MaxReadBytes, "limits.max_read_bytes")
	res, err := c.exec(ctx, s, &in, maxOutput)
	if err != nil {
		return nil, err
	}
	return c.execResult(res), nil
}

// exec starts, continues or cancels a command, as the arguments say.
func (c *invocation) exec(
	ctx context.Context,
	s *session.Session,
	in *execArgs,
	maxOutput int,
) (session.ExecResult, error) {
	ch := checker{t: c.tool}
	switch {
	case in.ExecID != "" && in.Cmd != "":
		return session.ExecResult{}, ch.invalid(
			"exec_id",
			nil,
			"cmd and exec_id exclude each other: cmd starts a command, exec_id goes on with one",
		)
	case in.Cmd != "" && in.Argv != nil:
		return session.ExecResult{}, ch.invalid(
			"argv",
			nil,
			"cmd and argv exclude each other: cmd is a line for the shell there, argv is a program and its arguments",
		)
	case in.Argv != nil && (len(in.Argv) == 0 || in.Argv[0] == ""):
		return session.ExecResult{}, ch.invalid(
			"argv",
			nil,
			"argv needs a program as its first word, such as [\"ls\",\"-l\"]",
		)
	case in.Cancel && in.ExecID == "":
		return session.ExecResult{}, ch.invalid("exec_id", nil, "cancel needs exec_id: the command to stop")
	case in.ExecID != "" && in.starts() != "":
		return session.ExecResult{}, ch.invalid(
			in.starts(),
			[]string{"session_id", "exec_id", "cancel", "max_output_bytes", "task_id"},
			"%s is for starting a command, and exec_id goes on with one that runs as it was started; leave %s out",
			in.starts(),
			in.starts(),
		)
	case in.Cancel:
		return s.CancelExec(ctx, in.ExecID, maxOutput)
	case in.ExecID != "":
		return s.ContinueExec(ctx, in.ExecID, c.o.MaxWait, maxOutput)
	case in.StopOnCancel && in.RequestID != "":
		return session.ExecResult{}, ch.invalid(
			"stop_on_cancel",
			nil,
			"stop_on_cancel and request_id exclude each other: with request_id a command outlives the call that started it, for a retry to find",
		)
	case in.Argv == nil && strings.TrimSpace(in.Cmd) == "":
		return session.ExecResult{}, ch.invalid(
			"cmd",
			nil,
			"cmd is empty: pass the command to run (or argv), or exec_id to go on with one",
		)
	}
	expect, err := in.Expect.compile("expect", s.Expect().Pagers)
	if err != nil {
		return session.ExecResult{}, err
	}
	env, err := ch.env(in.Env)
	if err != nil {
		return session.ExecResult{}, err
	}
	stdin, err := ch.bytes("stdin", in.Stdin, in.StdinEncoding)
	if err != nil {
		return session.ExecResult{}, err
	}
	timeout := c.o.ExecTimeout
	if in.TimeoutMS > 0 {
		timeout = c.millis("timeout_ms", in.TimeoutMS, c.o.MaxExecTimeout, "limits.max_exec_timeout_ms")
	}
	wait := c.o.MaxWait
	return s.Exec(ctx, session.ExecRequest{
		Command: in.Cmd, Argv: in.Argv, Lane: in.Lane, Queue: in.Queue, StopOnCancel: in.StopOnCancel, Dir: in.Cwd, Env: env, Stdin: stdin,
		Timeout: timeout, Wait: wait, MaxOutput: maxOutput, Expect: expect,
		Class: in.Class, Idle: c.millis("until_idle_ms", in.UntilIdleMS, c.o.MaxExecTimeout, "limits.max_exec_timeout_ms"),
		NoMarker: isFalse(in.RCMode.Enabled), MarkerPrefix: in.RCMode.Prefix, MarkerSuffix: in.RCMode.Suffix,
	})
}

// starts names an argument that only the start of a command takes; empty if none is given.
func (in *execArgs) starts() string {
	switch {
	case in.Argv != nil:
		return "argv"
	case in.TimeoutMS != 0:
		return "timeout_ms"
	case in.Cwd != "":
		return "cwd"
	case in.Env != nil:
		return "env"
	case in.Stdin != "":
		return "stdin"
	case in.StdinEncoding != "":
		return "stdin_encoding"
	case in.Lane != "":
		return "lane"
	case in.Queue:
		return "queue"
	case in.StopOnCancel:
		return "stop_on_cancel"
	case in.Expect.given():
		return "expect"
	case in.Class != "":
		return "class"
	case in.UntilIdleMS != 0:
		return "until_idle_ms"
	case in.RCMode.Enabled != nil || in.RCMode.Prefix != "" || in.RCMode.Suffix != "":
		return "rc_mode"
	}
	return ""
}

// env splits NAME=value.
func (c *checker) env(list []string) ([]term.EnvVar, error) {
	env := make([]term.EnvVar, len(list))
	for i, e := range list {
		name, value, ok := strings.Cut(e, "=")
		if !ok || name == "" || strings.ContainsAny(e, "\x00") {
			path := fmt.Sprintf("env[%d]", i)
			return nil, c.invalid(path, nil, "%s must have the form NAME=value", path)
		}
		env[i] = term.EnvVar{Name: name, Value: value}
	}
	return env, nil
}

// bytes decodes text in one of the encodings of the wire.
func (c *checker) bytes(path, text, encoding string) ([]byte, error) {
	if encoding != "base64" {
		return []byte(text), nil
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, c.invalid(
			path,
			nil,
			"%s is not valid base64 (%v); encode it with the standard alphabet and padding, or leave encoding out",
			path,
			err,
		)
	}
	return b, nil
}

// lower lowers a caller's size to the operator's limit, with a warning. Zero stays.
func (c *invocation) lower(field string, n int64, limit int, key string) int {
	if n > int64(limit) {
		c.warn(fmt.Sprintf("%s was lowered to %d (%s)", field, limit, key))
		return limit
	}
	return int(n)
}

// execResult is the wire form of r.
func (c *invocation) execResult(r session.ExecResult) *execOut {
	out := &execOut{
		DoneReason: r.Done, TimedOut: r.TimedOut, DurationMS: r.Duration.Milliseconds(), ExecLane: r.Lane, ExecID: r.ID,
		ExitSignal: r.Exit.Signal, Killed: r.Exit.Killed, BackgroundOutput: r.Exit.Background, ErrorHints: r.ErrorHints,
		PromptDetected: r.Prompt, WaitingFor: r.WaitingFor, StderrMerged: r.Lane == session.LaneTerminal, LostBytes: r.Lost, Pages: r.Pages,
		Truncated: !r.Stdout.Complete() || !r.Stderr.Complete(), Warnings: c.notes,
	}
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
		cut = &omitted{At: len(o.Head), Bytes: o.Omitted(), Cursor: strconv.Itoa(len(o.Head))}
	}
	whole := o.Bytes()
	switch {
	case cut == nil && utf8.Valid(whole):
		return string(whole), "", o.Total, nil
	case cut == nil || !utf8.Valid(o.Head) || !utf8.Valid(o.Tail):
		return base64.StdEncoding.EncodeToString(whole), "base64", o.Total, cut
	}
	return fmt.Sprintf("%s\n[... %d bytes left out ...]\n%s", o.Head, cut.Bytes, o.Tail), "", o.Total, cut
}
