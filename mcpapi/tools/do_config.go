package tools

import (
	"context"

	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/session"
)

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
