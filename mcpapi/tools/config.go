package tools

import (
	"cmp"
	"context"

	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/tools/changes"
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
		{Name: "snapshot", About: "keep the device's configuration as name.", Example: `{"action":"snapshot","session_id":"r1-k3f9q2zd","name":"before"}`, Verb: term.VerbExec, Mark: DeviceSet},
		{Name: "diff", About: "compare two.", Example: `{"action":"diff","session_id":"r1-k3f9q2zd","from":"before"}`, Reads: true, Verb: term.VerbExec, Mark: DeviceSet},
	},
	Hints: schema.Hints{Idempotent: true, OpenWorld: true},
}, configure, configOut{}, changes.Taken{}, changes.Compared{})

// configArgs are the arguments of ptyctl_session_config; sizes are in characters.
type configArgs struct {
	SessionID string     `json:"session_id" need:"*" is:"filled" doc:"from open"`
	Cols      int        `json:"cols" need:"resize" min:"1" max:"10000" doc:"[resize]"`
	Rows      int        `json:"rows" need:"resize" min:"1" max:"10000" doc:"[resize]"`
	Expect    expectArgs `json:"expect" need:"expect" doc:"[expect]" eg:"'expect':{'prompt_regex':'[>#] $'}"`
	TaskID    string     `json:"task_id" on:"resize expect snapshot diff" is:"filled" doc:"your lock name" eg:"'task_id':'task-1'"`
	Name      string     `json:"name" need:"snapshot" is:"filled device" doc:"[snapshot]"`
	From      string     `json:"from" need:"diff" is:"filled device" doc:"[diff] name"`
	To        string     `json:"to" on:"diff" is:"filled device" doc:"[diff] name; default now"`
	ExecID    string     `json:"exec_id" on:"snapshot diff" is:"filled device" doc:"go on with it"`
	Minutes   int        `json:"minutes" on:"get" is:"device" default:"5" min:"1" max:"1440" doc:"[get] until an unconfirmed change is undone (trials)" eg:"'minutes':10"`
}

// configOut is the result of ptyctl_session_config: the size and the patterns in force after the call.
type configOut struct {
	Action   string          `json:"action"`
	Success  bool            `json:"success"`
	Cols     int             `json:"cols,omitempty"`
	Rows     int             `json:"rows,omitempty"`
	Expect   *expectOut      `json:"expect,omitempty" is:"listed"`
	Telnet   *wire.Telnet    `json:"telnet,omitempty"`
	Trials   []changes.Trial `json:"trials,omitempty"` // how a change is made that undoes itself
	Batch    *changes.Batch  `json:"batch,omitempty"`  // how many lines become one transaction
	Warnings []string        `json:"warnings,omitempty"`
}

// configCompact is the compact form of configOut. It is a separate type without a Compact method.
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
	verb := c.Verb()
	if c.Action() == "diff" && in.To != "" { // and runs no command
		verb = term.VerbRead
	}
	s, err := c.Session(ctx, verb, in.SessionID)
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
		if toolset.Offers(c, "diff") {
			out.Trials, out.Batch = changes.Trials(s, in.Minutes), changes.BatchOf(s)
		}
	case "snapshot":
		return changes.Take(ctx, c, s, in.Name, in.ExecID)
	case "diff":
		return changes.Diff(ctx, c, s, in.From, cmp.Or(in.To, changes.Now), in.ExecID)
	}
	if err != nil {
		return nil, err
	}
	out.Warnings = c.Warnings()
	return out, nil
}
