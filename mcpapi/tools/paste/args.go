package paste

import (
	"context"
	"time"

	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/toolset"
	"ptyctl/session"
	"ptyctl/session/paced"
)

// Args are the arguments of ptyctl_session_io for lines.
type Args struct {
	Lines string `json:"lines" on:"write" is:"filled text device" doc:"[write] a configuration: each line typed when the one before is answered; stops at the first refused. Running: exec_id, for ptyctl_session_exec" eg:"'lines':'interface Gi0/1\\n shutdown','data':null,'until_idle_ms':null"`
	Pace  Pace   `json:"pace" on:"write" is:"device" doc:"[write] of lines" eg:"'pace':{'mode':'prompt'},'lines':'hostname r1','data':null,'until_idle_ms':null"`
}

// Pace says how lines are typed. Times are in milliseconds.
type Pace struct {
	Mode          paceMode `json:"mode" doc:"the next line after: a prompt; the echo; line_delay_ms. Default: prompt, echo where none is known" eg:"'mode':'echo'"`
	LineDelayMS   int64    `json:"line_delay_ms" max:"600000" doc:"before the next; mode delay: default 200" eg:"'line_delay_ms':500"`
	CharDelayMS   int64    `json:"char_delay_ms" max:"10000" doc:"between characters" eg:"'char_delay_ms':20"`
	LineTimeoutMS int64    `json:"line_timeout_ms" min:"1" max:"86400000" doc:"for one answer; default 60000" eg:"'line_timeout_ms':120000"`
	StopOnError   *bool    `json:"stop_on_error" doc:"at a line that the profile's or expect's errors match; default true" eg:"'stop_on_error':false"`
}

// paceMode is a paced.Mode.
type paceMode string

// Enum returns all that there are.
func (paceMode) Enum() []string { return paced.Modes() }

// maxLines bounds the text of a call, in bytes.
const maxLines = 1 << 20

// Given reports whether a call has lines.
func (in *Args) Given() bool { return in.Lines != "" }

// Check refuses a pace without lines, and lines that are too many.
func (in *Args) Check(ch *schema.Checker) error {
	switch {
	case !in.Given() && in.Pace != (Pace{}):
		return ch.Invalid("pace", nil, "pace is for lines: pass the lines to type, or leave pace out")
	case in.Given() && len(in.Lines) > maxLines:
		return ch.Invalid("lines", nil, "lines has %d bytes, of at most %d: give them in parts", len(in.Lines), maxLines)
	}
	return nil
}

// Write types the lines and waits for their end, at most for wait. Answers take as many bytes of the result as room.
func (in *Args) Write(
	ctx context.Context, c *toolset.Call, s *session.Session, wait time.Duration, room int,
) (session.ExecResult, *Out, error) {
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	limits := c.Limits()
	res, err := s.Paste(ctx, session.ExecRequest{
		Command: in.Lines,
		Pace: &session.Pace{
			Mode: paced.Mode(in.Pace.Mode), LineDelay: ms(in.Pace.LineDelayMS), CharDelay: ms(in.Pace.CharDelayMS),
			LineTimeout: ms(in.Pace.LineTimeoutMS), StopOnError: in.Pace.StopOnError == nil || *in.Pace.StopOnError,
		},
		Timeout: limits.ExecTimeout, Unattended: min(limits.UnattendedExec, limits.MaxExecTimeout), Wait: max(wait, 1),
		// A client that has given up does not know how far the lines would go.
		StopOnCancel: true, MaxOutput: room,
	})
	if err != nil {
		return res, nil, err
	}
	return res, newOut(ctx, res.Lines).with(res.Lines, room), nil
}
