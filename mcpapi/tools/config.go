package tools

import (
	"context"

	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/term"
)

var configTool = toolset.Bind(schema.Tool{
	Name:    "ptyctl_session_config",
	Title:   "Settings",
	About:   "A terminal's size and patterns.",
	Reading: "See a terminal's size, and the patterns that say what its output means.",
	Actions: []schema.Action{
		{Name: "resize", About: "set cols and rows.", Example: `{"action":"resize","session_id":"web1-k3f9q2zd","cols":120,"rows":40}`},
		{Name: "expect", About: "set those given.", Example: `{"action":"expect","session_id":"web1-k3f9q2zd","expect":{"prompt_regex":"[>#] $"}}`},
		{Name: "get", About: "size and patterns.", Plain: true, Example: `{"action":"get","session_id":"web1-k3f9q2zd"}`, Reads: true, Verb: term.VerbRead},
	},
	Hints: schema.Hints{Idempotent: true, OpenWorld: true},
}, configure, configOut{})

// configArgs are the arguments of ptyctl_session_config; sizes are in characters.
type configArgs struct {
	SessionID string     `json:"session_id" need:"*" is:"filled" doc:"from open"`
	Cols      int        `json:"cols" need:"resize" min:"1" max:"10000" doc:"[resize]"`
	Rows      int        `json:"rows" need:"resize" min:"1" max:"10000" doc:"[resize]"`
	Expect    expectArgs `json:"expect" need:"expect" doc:"[expect]" eg:"'expect':{'prompt_regex':'[>#] $'}"`
	TaskID    string     `json:"task_id" on:"resize expect" is:"filled" doc:"your lock name" eg:"'task_id':'task-1'"`
}

// configOut is the result of ptyctl_session_config: the size and the patterns in force after the call.
type configOut struct {
	Action   string       `json:"action"`
	Success  bool         `json:"success"`
	Cols     int          `json:"cols,omitempty"`
	Rows     int          `json:"rows,omitempty"`
	Expect   *expectOut   `json:"expect,omitempty" is:"listed"`
	Telnet   *wire.Telnet `json:"telnet,omitempty"`
	Warnings []string     `json:"warnings,omitempty"`
}

// configCompact is the compact form of configOut, a type of its own so that it has no compact form in turn.
type configCompact configOut

// Compact leaves out the values of the call.
func (out *configOut) Compact() any {
	c := configCompact(*out)
	c.Action, c.Success = "", false
	if out.Action == "resize" {
		c.Expect, c.Telnet = nil, nil
	}
	return c
}

// configure runs one action of ptyctl_session_config. The result has the values in force after it, not those of the
// call.
func configure(ctx context.Context, c *toolset.Call, in *configArgs) (any, error) {
	s, err := c.Session(ctx, c.Verb(), in.SessionID)
	if err != nil {
		return nil, err
	}
	out := &configOut{Action: c.Action(), Success: true}
	switch c.Action() {
	case "resize":
		err = s.Resize(ctx, in.Cols, in.Rows)
		// The size that was asked for: the far side confirms none.
		out.Cols, out.Rows = in.Cols, in.Rows
	case "expect":
		var x session.Expect
		if x, err = in.Expect.compile("expect", s.Expect().Pagers); err == nil {
			err = s.SetExpect(ctx, x)
		}
		// All patterns in force, since the call may have changed only some of them.
		out.Expect = newExpectOut(s.Expect())
	case "get":
		i := s.Info()
		if i.About.PTY {
			out.Cols, out.Rows = i.PTY.Cols, i.PTY.Rows
		}
		out.Expect, out.Telnet = newExpectOut(s.Expect()), (*wire.Telnet)(i.About.Telnet)
	}
	if err != nil {
		return nil, err
	}
	out.Warnings = c.Warnings()
	return out, nil
}
