package kpty

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/session/prompt"
	"ptyctl/term"
)

// maxSentinel is the most bytes of a sentinel. Every command line carries it in octal, at
// four bytes each, and a terminal takes at most 4096 bytes in one line.
const maxSentinel = 64

// runOut is the result of run.
type runOut struct {
	OK        bool   `json:"ok" is:"listed"`
	SessionID string `json:"session_id" is:"listed"`
	shown
	Omitted  int64         `json:"omitted_bytes,omitempty"` // from the middle of the output
	ExitCode *int          `json:"exit_code,omitempty" is:"listed"`
	Reason   string        `json:"exit_code_reason,omitempty"` // why there is no exit code
	Took     int64         `json:"duration_ms"`                // milliseconds
	Running  bool          `json:"running,omitempty" is:"listed"`
	ExecID   string        `json:"exec_id,omitempty" is:"listed"`
	Waiting  *wire.Waiting `json:"waiting_for,omitempty" is:"listed"`
	Warnings []string      `json:"warnings,omitempty"`
}

// run runs a command in the session's shell. The session types it between two markers
// that cannot be confused with the command's echo or output, in a form that survives
// comments, open quotes, here-documents and syntax errors in the command.
func (c *call) run(ctx context.Context) (any, error) {
	c.Waits("the command on "+c.s.ID(), c.s)
	until := time.Now().Add(c.Limits().MaxWait)
	var res session.ExecResult
	var err error
	var warnings []string
	switch {
	case c.in.ExecID != "" && (c.in.Command != "" || c.in.Sentinel != "" || c.in.TimeoutMS != nil):
		return nil, c.Invalid(
			"exec_id",
			"exec_id goes on with a command as it was started: leave command, sentinel and timeout_ms out",
		)
	case c.in.ExecID != "":
		res, err = c.s.ContinueExec(ctx, c.in.ExecID, session.ContinueRequest{
			Wait: c.Limits().MaxWait, MaxOutput: c.maxBytes(),
		})
		if errors.Is(err, term.NotFound) {
			return nil, c.Invalid(
				"exec_id",
				"this session has no such command: its output was returned in full, or is no longer kept",
			)
		}
	case strings.TrimSpace(c.in.Command) == "":
		return nil, c.Invalid("command", "command is missing: "+
			"pass the command to run, or the exec_id of one to wait for")
	default:
		var r session.ExecRequest
		if r, warnings, err = c.request(); err != nil {
			return nil, err
		}
		res, err = c.s.Exec(ctx, r)
	}
	if err == nil {
		res, err = c.bearWith(ctx, res, until)
	}
	if err != nil {
		return nil, err
	}
	c.bookmark(ctx).move(c.s.End()) // the raw output, markers included, must not appear again in read
	out := c.result(res)
	out.Warnings = append(warnings, c.Warnings()...)
	return c.judge(res, out)
}

// slowShell is how long a busy shell may take to read the line after its prompt.
const slowShell = 2 * time.Second

// bearWith waits again for a command that seems to wait at the shell's prompt. On a busy
// machine the terminal may echo the command at the prompt before the shell has read it;
// the session then reports prompt.Command for a command that has not started. If nothing new
// is shown for slowShell, bearWith accepts the report.
func (c *call) bearWith(ctx context.Context, res session.ExecResult, until time.Time) (session.ExecResult, error) {
	unseen := term.WithActor(ctx, term.Actor{}) // an empty actor: the audit log must not show a read that no caller sees
	for res.Done == session.DoneRunning && res.WaitingFor != nil && res.WaitingFor.Kind == prompt.Command {
		k := c.s.Read(unseen, session.ReadRequest{Cursor: session.Latest}.Within(min(slowShell, time.Until(until))))
		again, err := c.s.ContinueExec(ctx, res.ID, session.ContinueRequest{Wait: time.Until(until), MaxOutput: c.maxBytes()})
		if err != nil || len(k.Data) == 0 {
			return again, err
		}
		res = again
	}
	return res, nil
}

// request returns the session's request for the call's arguments. The warnings name
// arguments that were changed, for example a timeout_ms above the operator's limit.
func (c *call) request() (r session.ExecRequest, warnings []string, err error) {
	timeout := runTimeout * time.Millisecond
	if c.in.TimeoutMS != nil {
		timeout = time.Duration(*c.in.TimeoutMS) * time.Millisecond
	}
	if timeout == 0 {
		return r, nil, c.Invalid("timeout_ms", "timeout_ms must be at least 1: a command needs time")
	}
	if most := c.Limits().MaxExecTimeout; timeout > most {
		timeout, warnings = most, append(warnings, "timeout_ms was lowered to "+most.String())
	}
	r = session.ExecRequest{
		Command:   c.in.Command,
		Lane:      session.LaneTerminal,
		Timeout:   timeout,
		Wait:      c.Limits().MaxWait,
		MaxOutput: c.maxBytes(),
	}
	if c.in.Sentinel == "" {
		return r, warnings, nil
	}
	if len(c.in.Sentinel) > maxSentinel ||
		strings.ContainsFunc(c.in.Sentinel, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return r, nil, c.Invalid("sentinel", fmt.Sprintf("sentinel must be one line of at most %d bytes", maxSentinel))
	}
	if c.inCmd() {
		return r, append(warnings, "cmd.exe cannot print a caller's marker: sentinel was ignored; "+
			"the end of the command is recognized without it"), nil
	}
	r.MarkerPrefix, r.MarkerSuffix = sentinelMarker(c.in.Sentinel)
	return r, warnings, nil
}

// sentinelMarker returns the start and the end of the marker line for a caller's
// sentinel. The random part keeps a command from ending too early if it prints the
// sentinel itself, even with a number after it.
func sentinelMarker(sentinel string) (prefix, suffix string) {
	var nonce [4]byte
	_, _ = rand.Read(nonce[:]) // never fails
	return sentinel + "_" + hex.EncodeToString(nonce[:]) + "=", "__"
}

// inCmd reports whether the session's shell is cmd.exe.
func (c *call) inCmd() bool {
	p := c.s.Info().About.Process
	return p != nil && len(p.Argv) > 0 && isCmd(p.Argv[0])
}

// isCmd reports whether a program's path names cmd.exe, for example
// `C:\Windows\System32\cmd.exe`.
func isCmd(program string) bool {
	name := strings.ToLower(program[strings.LastIndexAny(program, `/\`)+1:])
	return name == "cmd" || name == "cmd.exe"
}

// result converts the state of a command to the form of the contract.
func (c *call) result(res session.ExecResult) *runOut {
	out := &runOut{
		OK: true, SessionID: c.s.ID(), Took: res.Duration.Milliseconds(), Reason: res.ExitReason,
		Running: res.Done == session.DoneRunning, ExecID: res.ID, Waiting: (*wire.Waiting)(res.WaitingFor),
	}
	if res.Exit.Known {
		out.ExitCode = &res.Exit.Code
	}
	clean := func(p []byte) []byte {
		if c.in.Format != "raw" {
			p, _ = c.s.CleanText(p)
		}
		return p
	}
	if o := res.Stdout; o.Complete() {
		out.show(clean(o.Bytes()))
	} else {
		out.Omitted = o.Omitted()
		out.show(fmt.Appendf(nil, "%s\n[... %d bytes left out ...]\n%s", clean(o.Head), o.Omitted(), clean(o.Tail)))
	}
	out.Dropped = res.Lost
	out.Truncated = out.Omitted > 0 || res.Lost > 0
	return out
}

// judge turns a result into a failure where the contract demands it: the command took too
// long, or it ended the shell.
func (c *call) judge(res session.ExecResult, out *runOut) (any, error) {
	var e *failure
	switch {
	case res.TimedOut:
		stopped := res.Exit.Killed == "yes" || res.Exit.Known
		what := "the command took longer than timeout_ms and was stopped with ctrl-c; the shell is ready again"
		if !stopped {
			what = `the command took longer than timeout_ms and ignored ctrl-c: it may still run; check with read, ` +
				`type \u0003 or an answer with write, or kill the session`
		}
		e = c.timeout(what)
		e.Stopped = &stopped
	case res.Done == session.DoneEOF:
		e = c.failure(&term.Error{
			Op: "exec", Session: c.s.ID(), Kind: term.RemoteClosed,
			Facts: term.Facts{term.Ended{Reason: c.s.Info().End.Reason}},
		})
		e.ExitCode = cmp.Or(out.ExitCode, e.ExitCode)
	default:
		return out, nil
	}
	e.shown, e.ExecID, e.Omitted = &out.shown, out.ExecID, out.Omitted
	return nil, e
}
