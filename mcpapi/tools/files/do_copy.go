package files

import (
	"cmp"
	"context"
	"path"

	"ptyctl/mcpapi/toolset"
	"ptyctl/session"
	"ptyctl/session/hosts"
	"ptyctl/term"
)

// fsCopy copies a file or a tree. If the call's time ends first, the copy goes on as an exec of one of the sessions.
func fsCopy(ctx context.Context, c *toolset.Call, in *fsArgs) (any, error) {
	if name := c.Marked(in, "many"); name != "" {
		return nil, c.Invalid(name, name+" is for many hosts: name them in to.hosts")
	}
	if in.Via != "" {
		if err := checkVia(c, in); err != nil {
			return nil, err
		}
	}
	// Both are checked before anything is opened.
	from, err := endOf(c, "from", in.From, in.Via)
	if err != nil {
		return nil, err
	}
	to, err := endOf(c, "to", in.To.place, in.Via)
	if err != nil {
		return nil, err
	}
	out := &fsCopyOut{Action: "copy"}
	if lend := toolset.LenderFrom(ctx); lend != nil {
		out.Bytes, err = from.lend(ctx, c, in.Recursive, lend)
		return out, err
	}
	for _, end := range []*copyEnd{from, to} {
		verb, id := term.VerbFileRead, &out.FromSession
		if end == to {
			verb, id = term.VerbFileWrite, &out.ToSession
		}
		asked, err := end.find(ctx, c, verb)
		switch {
		case err != nil:
			return nil, err
		case asked != nil:
			return c.NotOpen(asked.OpenResult, toolset.Undone{
				What: "nothing was copied", Asks: !asked.Joined, // only the first call asks
				Do: func(ctx context.Context, c *toolset.Call, _ session.OpenResult) (any, error) {
					return fsCopy(ctx, c, in)
				},
			}), nil
		case end.host != nil:
			*id = end.place.Session.ID()
		}
	}
	r := session.CopyRequest{
		From: from.place, To: to.place, Via: session.Via(in.Via), Recursive: in.Recursive, Resume: in.Resume, Verify: in.Verify,
		Timeout:  c.Limits().MaxExecTimeout,
		Wait:     max(c.Left(), 1), // 0 would be as long as it takes
		Progress: c.Moves("copying " + path.Base(cmp.Or(in.From.Path, in.To.Path))),
		Show:     showCopy(ctx, in.To.Path),
	}
	if in.TimeoutMS > 0 {
		r.Timeout = c.Millis("timeout_ms", in.TimeoutMS, c.Limits().MaxExecTimeout, "limits.max_exec_timeout_ms")
	}
	done, err := c.Copy(ctx, r)
	if err != nil {
		return nil, err
	}
	if done.Changed {
		c.Inform("the source changed while it was copied")
	}
	out.fill(ctx, done, in.To.Path)
	out.Warnings = append(out.Warnings, c.Warnings()...)
	return out, nil
}

// A copyEnd is one end of a copy. Its session may have to be found or opened first.
type copyEnd struct {
	place session.CopyPlace
	id    machine      // of its session; empty: the end is named by its host, or is this machine
	host  *term.Target // nil: the call names no host
}

// endOf reads one end.
func endOf(c *toolset.Call, name string, p place, via string) (*copyEnd, error) {
	end := &copyEnd{place: session.CopyPlace{Path: p.Path}, id: p.SessionID}
	switch {
	case p.Path == "" && (via == "" || p.SessionID == ""): // over a terminal, it is a name that may be left out
		return nil, c.Invalid(name+".path", name+".path is missing; give the path of a file or a folder")
	case p.Host == "":
		return end, nil
	case p.SessionID != "":
		return nil, c.Invalid(name+".host", "session_id and host exclude each other: session_id names the session to use, "+
			"host has one found or opened; leave one of the two out")
	}
	d, err := toolset.HostOf(c.Checker(), name+".host", string(p.Host),
		"pass the host without it; if the login asks, the result says how to answer")
	switch {
	case err != nil:
		return nil, err
	case d.Protocol == "telnet":
		return nil, c.Invalid(name+".host", name+".host is for SSH: there are no files over Telnet")
	case !c.FarFiles():
		return nil, &term.Error{
			Op: "copy", Kind: term.PolicyDenied, Facts: term.Facts{term.Denial{Setting: term.SettingRemoteFiles}},
			Msg: "the " + string(term.SettingRemoteFiles) + " are not offered", Advice: "the operator may change that",
		}
	}
	end.host = &term.Target{
		Protocol: "ssh", Host: d.Host, Port: d.Port, User: d.User, Auth: term.Auth{NoInteractive: c.NoInteractive()},
	}
	return end, nil
}

// find sets the session of an end. It returns the opening of one that is not open yet.
func (end *copyEnd) find(ctx context.Context, c *toolset.Call, verb term.Verb) (notOpen *hosts.Result, err error) {
	if end.host == nil {
		if verb == term.VerbFileRead {
			end.place.Lent = toolset.BorrowerFrom(ctx)(string(end.id))
		}
		if end.id != "" && end.place.Lent == nil {
			end.place.Session, err = c.Session(ctx, verb, string(end.id))
		}
		return nil, err
	}
	c.Waits("connecting", nil)
	at, err := c.On(ctx, *end.host, func(*session.Session) error { return nil })
	if err != nil {
		return nil, err
	}
	if at.State != session.Open {
		return &at, nil
	}
	end.place.Session = at.Session
	return nil, nil
}

// lend lends the source, which is on a session's host, to another node.
func (end *copyEnd) lend(ctx context.Context, c *toolset.Call, tree bool, lend toolset.Lender) (bytes int64, err error) {
	s, err := c.Session(ctx, term.VerbFileRead, string(end.id))
	if err != nil {
		return 0, err
	}
	files, err := toolset.Lend(c, s)
	if err != nil {
		return 0, err
	}
	return lend(ctx, files, end.place.Path, tree)
}
