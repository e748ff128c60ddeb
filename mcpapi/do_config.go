package mcpapi

import (
	"context"

	"ptyctl/session"
	"ptyctl/term"
)

// configArgs are the arguments of ptyctl_session_config.
type configArgs struct {
	SessionID  string `json:"session_id"`
	Cols, Rows int
	Expect     expectArgs
	TaskID     string `json:"task_id"`
}

// configOut is the result of ptyctl_session_config.
type configOut struct {
	Action   string       `json:"action"`
	Success  bool         `json:"success"`
	Cols     int          `json:"cols,omitempty"`
	Rows     int          `json:"rows,omitempty"`
	Expect   *expectOut   `json:"expect,omitempty"`
	Telnet   *term.Telnet `json:"telnet,omitempty"`
	Warnings []string     `json:"warnings,omitempty"`
}

func (c *invocation) doConfig(ctx context.Context) (any, error) {
	var in configArgs
	if err := c.args(&in); err != nil {
		return nil, err
	}
	ctx = c.acting(ctx, in.TaskID)
	verb := term.Verb(c.action)
	if c.action == "get" {
		verb = term.VerbRead
	}
	s, err := c.m.GetFor(ctx, verb, in.SessionID)
	if err != nil {
		return nil, err
	}
	out := &configOut{Action: c.action, Success: true}
	switch c.action {
	case "resize":
		err = s.Resize(ctx, in.Cols, in.Rows)
		out.Cols, out.Rows = in.Cols, in.Rows
	case "expect":
		var x session.Expect
		if x, err = in.Expect.compile("expect", s.Expect().Pagers); err == nil {
			err = s.SetExpect(ctx, x)
		}
		out.Expect = newExpectOut(s.Expect())
	case "get":
		i := s.Info()
		if i.About.PTY {
			out.Cols, out.Rows = i.PTY.Cols, i.PTY.Rows
		}
		out.Expect, out.Telnet = newExpectOut(s.Expect()), i.About.Telnet
	}
	if err != nil {
		return nil, err
	}
	out.Warnings = c.notes
	return out, nil
}
