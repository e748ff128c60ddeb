package files

import (
	"context"
	"path"

	"ptyctl/mcpapi/toolset"
	"ptyctl/session"
	"ptyctl/term"
)

// fsCopy copies a file or a tree. If the call's time is over before, the copy goes on as an exec of one of the sessions.
func fsCopy(ctx context.Context, c *toolset.Call, in *fsArgs) (any, error) {
	from, err := placeOf(ctx, c, term.VerbFileRead, "from", in.From)
	if err != nil {
		return nil, err
	}
	to, err := placeOf(ctx, c, term.VerbFileWrite, "to", in.To)
	if err != nil {
		return nil, err
	}
	r := session.CopyRequest{
		From: from, To: to, Recursive: in.Recursive, Resume: in.Resume, Verify: in.Verify,
		Timeout:  c.Limits().MaxExecTimeout,
		Wait:     c.Limits().MaxWait,
		Progress: c.Moves("copying " + path.Base(in.From.Path)),
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
	out := newCopyOut(ctx, done, in.To.Path)
	out.Warnings = c.Warnings()
	return out, nil
}

// placeOf returns an end of a copy, if the caller may see its session.
func placeOf(ctx context.Context, c *toolset.Call, verb term.Verb, name string, p place) (session.CopyPlace, error) {
	if p.Path == "" {
		return session.CopyPlace{}, c.Invalid(name+".path", name+".path is missing; give the path of a file or a folder")
	}
	if p.SessionID == "" {
		return session.CopyPlace{Path: p.Path}, nil
	}
	s, err := c.Session(ctx, verb, string(p.SessionID))
	return session.CopyPlace{Session: s, Path: p.Path}, err
}
