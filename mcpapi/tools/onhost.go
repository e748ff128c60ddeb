package tools

import (
	"cmp"
	"context"
	"time"

	"ptyctl/internal/destination"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/term"
)

// onHost runs a command on a host, in a session that the caller has open there or that is opened for it.
func onHost(ctx context.Context, c *toolset.Call, in *execArgs) (any, error) {
	d, err := commandHost(c, in)
	if err != nil {
		return nil, err
	}
	// All arguments are checked before anything is opened. No pagers are known: nothing is typed.
	more, err := in.wanted(c)
	if err != nil {
		return nil, err
	}
	r, err := startRequest(c, in, nil, more)
	if err != nil {
		return nil, err
	}
	r.Lane = session.LaneChannel // whatever is typed into the terminal meanwhile
	t := term.Target{
		Protocol: "ssh", Host: d.Host, Port: d.Port, User: d.User,
		Auth: term.Auth{NoInteractive: c.NoInteractive(), Secret: in.LoginSecret},
	}
	c.Waits("connecting", nil)
	var res session.ExecResult
	at, err := c.On(ctx, t, func(s *session.Session) (err error) {
		c.Waits("the command on "+s.ID(), s)
		r.Wait = max(min(r.Wait, c.Left()), 1) // 0 would be as long as it takes
		res, err = s.Exec(ctx, r)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case at.State != session.Open:
		return c.NotOpen(at.OpenResult, toolset.Undone{
			What: "the command was not run", Asks: !at.Joined, // only the first call asks
			Do: func(ctx context.Context, c *toolset.Call, _ session.OpenResult) (any, error) {
				return onHost(ctx, c, in)
			},
		}), nil
	}
	out := executed(c, at.Session, in, res)
	out.SessionID = at.Session.ID()
	return out, nil
}

// commandHost returns the host that a command names, and refuses arguments that do not go with one.
func commandHost(c *toolset.Call, in *execArgs) (d destination.Destination, err error) {
	ch := c.Checker()
	switch {
	case in.SessionID != "":
		return d, ch.Invalid("host", nil, "session_id and host exclude each other: session_id names the session to use, "+
			"host has one found or opened; leave one of the two out")
	case in.ExecID != "" || in.Cancel:
		return d, ch.Invalid("session_id", nil, "exec_id needs session_id, not host: that of the result with the exec_id")
	case in.Lane == session.LaneTerminal:
		return d, ch.Invalid("lane", []string{string(session.LaneAuto), string(session.LaneChannel)},
			"lane terminal needs a session with a terminal: open one with ptyctl_session open, and pass its session_id")
	}
	d, err = toolset.HostOf(ch, "host", in.Host, "pass the host without it; if the login asks, the result says how to answer")
	if err == nil && d.Protocol == "telnet" {
		err = ch.Invalid("host", nil, "host is for SSH here: open a Telnet host with ptyctl_session open, "+
			"and pass its session_id")
	}
	return d, err
}

// firstPrompt is how long the prompt of a new terminal is waited for: the banners of a login take their time.
const firstPrompt = 10 * time.Second

// typeAt types into a new terminal on a host: at its prompt, or when the condition is met of a first step that types
// nothing. All arguments are checked before anything is opened.
func typeAt(ctx context.Context, c *toolset.Call, in *ioArgs) (any, error) {
	ch := c.Checker()
	if in.SessionID != "" {
		return nil, ch.Invalid("host", nil, "session_id and host exclude each other: session_id names the session to type "+
			"into, host has a new one opened; leave one of the two out")
	}
	d, err := toolset.HostOf(ch, "host", in.Host, "pass the host without it; if the login asks, the result says how to answer")
	if err != nil {
		return nil, err
	}
	name, alone := ofStep, len(in.Steps) == 0
	if alone {
		in.single()
		name = func(_ int, field string) string { return field }
	}
	list, err := stepsOf(c, in, name)
	if err != nil {
		return nil, err
	}
	if _, err = matchArgs(in.lineArgs).filter(c, in.Format); err != nil {
		return nil, err
	}
	to := &sessionArgs{Protocol: cmp.Or(d.Protocol, "ssh"), Host: d.Host, Port: d.Port, Username: d.User}
	c.Waits("connecting", nil)
	r := session.OpenRequest{Target: to.target(c), Wait: c.Left()}
	res, err := c.Open(ctx, r)
	if err != nil {
		return nil, toolset.HostNamed(r.Target, err)
	}
	// A first step that waits may wait for the login's question, and the next one answer it.
	if res.State != session.Open && (res.Prompt == nil || !in.Steps[0].waits()) {
		return c.NotOpen(res, toolset.Undone{
			What: "nothing was typed", Then: "go on with session_id", Asks: true,
			Do: func(ctx context.Context, c *toolset.Call, res session.OpenResult) (any, error) {
				return typeInto(ctx, c, in, list, alone, res)
			},
		}), nil
	}
	return typeInto(ctx, c, in, list, alone, res)
}

// single makes a list of the input of a call that has no list.
func (in *ioArgs) single() {
	one := ioStep{
		Data: in.Data, Key: string(in.Key), Keys: in.Keys, Paste: in.Paste,
		UntilRegex: in.UntilRegex, UntilPrompt: in.UntilPrompt, UntilIdleMS: in.UntilIdleMS,
		UntilScreen: in.UntilScreen, UntilStableMS: in.UntilStableMS, Click: in.Click, Secret: in.Secret,
	}
	if in.TimeoutMS != nil {
		one.TimeoutMS = *in.TimeoutMS
	}
	in.Steps = []ioStep{one}
	in.Data, in.Key, in.Keys, in.Paste = nil, "", nil, false
	in.UntilRegex, in.UntilPrompt, in.UntilIdleMS, in.TimeoutMS = "", false, 0, nil
	in.UntilScreen, in.UntilStableMS, in.Click, in.Secret = "", 0, screenPoint{}, ""
}

// typeInto types a list into the session that a call has opened. Nothing is typed at a question of the terminal unless
// the first step has waited for it. alone says that the call has one input and no list.
func typeInto(
	ctx context.Context, c *toolset.Call, in *ioArgs, list []session.Step, alone bool, res session.OpenResult,
) (any, error) {
	s, waits := res.Session, in.Steps[0].waits()
	about := s.Info().About
	for _, w := range about.Warnings {
		c.Warn(w)
	}
	if about.Security != "" {
		c.Warn(about.Security)
	}
	c.Waits("the write on "+s.ID(), s)
	out := &ioOut{Action: c.Action(), SessionID: s.ID(), session: s.ID(), alone: alone}
	typed := waits
	if !waits {
		k := s.Read(ctx, session.ReadRequest{
			Prompt: true, Tail: true, MaxBytes: 1,
			Timeout: min(max(c.Limits().ReadTimeout, firstPrompt), max(c.Left(), 1)),
		})
		if k.Reason == session.ReasonLimit {
			c.Inform(wire.WordsFor(ctx).Of(s.TooManyReads()))
		}
		typed = k.Reason == session.ReasonMatched
	}
	var err error
	if typed {
		if !waits { // the text of a login before the prompt costs more than it says
			out.from = s.Read(ctx, session.ReadRequest{Tail: true, MaxLines: 1, NoWait: true}).Start
		}
		err = typeSteps(ctx, c, s, in, list, out)
		if alone && err == nil && out.stepsOut != nil && out.Stopped == session.StopUnmatched && out.Typed {
			st := in.Steps[0] // as for any write
			out.asked = st.UntilRegex != "" || st.UntilPrompt || st.UntilScreen != "" || in.UntilCursor.Row > 0
			out.stepsOut, out.TimedOut = nil, true
		}
	} else {
		_, err = showSteps(ctx, c, s, in, nil, out, session.StepsResult{Stopped: session.StopUnmatched})
		out.stepsOut = &stepsOut{Stopped: session.StopUnmatched}
		c.Inform("nothing was typed: the terminal shows no prompt; go on with session_id. To type at another text, " +
			"begin steps with one that has only until_regex")
		err = cmp.Or(err, canceled(ctx, s))
	}
	if err != nil {
		if term.FactOf[term.PartialWrite](err).Written == 0 { // no caller has its id
			s.Close(context.WithoutCancel(ctx), session.CloseOptions{Force: true})
		}
		return nil, err
	}
	out.standing(c, s, in)
	return out, nil
}
