package tools

import (
	"context"
	"time"

	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/term"
)

var runTool = toolset.Bind(schema.Tool{
	Name:  "ptyctl_run",
	Title: "Run a program",
	About: "Run a program here, without a terminal. What it leaves running is ended. done_reason running: go on with " +
		"ptyctl_session_exec {session_id, exec_id}. Interactive: ptyctl_session.",
	Actions: []schema.Action{
		{Example: `{"argv":["go","test","./..."],"cwd":"/srv/app"}`, Verb: term.VerbExec},
	},
	Hints: schema.Hints{Destructive: true, OpenWorld: true},
	Local: true,
}, run, runOut{})

// runArgs are the arguments of ptyctl_run. Times are in milliseconds, sizes in bytes.
type runArgs struct {
	Argv          []string `json:"argv" need:"*" doc:"program, arguments; no shell"`
	Cwd           string   `json:"cwd" is:"filled" doc:"directory" eg:"'cwd':'/srv/app'"`
	Env           []string `json:"env" is:"pairs" doc:"NAME=value" eg:"'env':['LANG=C']"`
	Stdin         string   `json:"stdin" doc:"input" eg:"'stdin':'yes\\n'"`
	StdinSecret   string   `json:"stdin_secret" is:"filled secrets" doc:"it reads this secret as a line before stdin" eg:"'stdin_secret':'db-admin'"`
	StdinEncoding string   `json:"stdin_encoding" enum:"utf-8 base64" doc:"of stdin" eg:"'stdin_encoding':'base64','stdin':'eWVzCg=='"`
	TimeoutMS     int64    `json:"timeout_ms" min:"1" max:"1<<40" doc:"milliseconds, then TERM; default {session.default_exec_timeout_ms}" eg:"'timeout_ms':600000"`
	GraceMS       int64    `json:"grace_ms" min:"1" max:"60000" doc:"TERM to KILL; default 2000" eg:"'grace_ms':5000"`
	Format        string   `json:"format" is:"firm" enum:"clean raw" doc:"raw: exact; default {session.format}" eg:"'format':'raw'"`
	matchArgs
	MaxOutput int64      `json:"max_output_bytes" min:"1" max:"1<<40" doc:"per stream; default 16384" eg:"'max_output_bytes':4096"`
	Limits    limitsArgs `json:"limits" is:"pairs" doc:"cpu_s=N, memory_bytes=N, open_files=N, processes=N (in all)" eg:"'limits':['memory_bytes=1073741824']"`
	Title     string     `json:"title" is:"filled" doc:"label" eg:"'title':'build'"`
	RequestID string     `json:"request_id" is:"filled" doc:"for retries" eg:"'request_id':'r-1'"`
}

// limitsArgs are the limits of a program on this machine; 0 means that the call sets no limit. Processes counts all
// processes that the program starts, the others apply to each process.
type limitsArgs struct {
	CPU       int   `json:"cpu_s" min:"1" max:"1<<30" eg:"'cpu_s':60"`
	Memory    int64 `json:"memory_bytes" min:"1<<20" max:"1<<40" eg:"'memory_bytes':1073741824"`
	OpenFiles int   `json:"open_files" min:"4" max:"1<<20" eg:"'open_files':256"`
	Processes int   `json:"processes" min:"1" max:"1<<20" eg:"'processes':50"`
}

// runOut is the result of ptyctl_run. Usage and the limits that ended the program are left out while it runs.
type runOut struct {
	ExitCode   *int               `json:"exit_code" is:"listed nullable"`
	ExitSignal string             `json:"exit_signal,omitempty"`
	ExitReason string             `json:"exit_code_reason,omitempty"` // why exit_code is null
	Stdout     string             `json:"stdout" compact:"keep"`
	Stderr     string             `json:"stderr"`
	DoneReason session.DoneReason `json:"done_reason"`
	TimedOut   bool               `json:"timed_out"`
	DurationMS int64              `json:"duration_ms"`
	Cwd        string             `json:"cwd,omitempty"`
	Usage      *wire.Usage        `json:"usage,omitempty"`
	LimitMet   string             `json:"limit_exceeded,omitempty"`
	Suspected  []string           `json:"limit_suspected,omitempty"`

	SessionID   string `json:"session_id,omitempty" is:"listed"` // where the rest is, with exec_id
	ExecID      string `json:"exec_id,omitempty" is:"listed"`
	RemainingMS *int64 `json:"remaining_ms,omitempty"` // until the program is stopped, while it runs
	Killed      string `json:"killed,omitempty"`
	shownOut
	Warnings []string `json:"warnings,omitempty"`
}

// runCompact is the compact form of runOut. It is a separate type without a Compact method.
type runCompact runOut

// Compact leaves out the members that the compact result of an exec does.
func (out *runOut) Compact() any {
	c := runCompact(*out)
	if c.DoneReason == session.DoneExitStatus {
		c.DoneReason = ""
	}
	if c.DoneReason == "" && !c.Truncated && !c.filtered() {
		c.SessionID, c.ExecID = "", ""
	}
	c.shownOut = c.compact(c.Stdout)
	if c.DurationMS < reported {
		c.DurationMS = 0
	}
	c.Cwd, c.Usage = "", nil
	return c
}

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
		Target: term.Target{Protocol: "local", Local: local}, Stdin: stdin, Secret: in.StdinSecret,
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

// runResult returns the wire form of r: the form of an exec, without the members that need a terminal.
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
